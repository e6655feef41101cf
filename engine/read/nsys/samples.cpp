#include "read/nsys/samples.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "read/nsys/table_reader.hpp"

namespace gh::nsys {
namespace {

using MetricNames = std::map<std::pair<std::int64_t, std::int64_t>, NameId>;  // (GPU, metric)

MetricNames read_metric_names(const Database& db, Trace& trace) {
  MetricNames names;
  each_row(db, "metric_name", {"gpu", "metric", "name"}, trace.problems, [&](TableReader& rows) {
    const std::pair key(rows.integer(0), rows.integer(1));
    if (rows.sound()) names[key] = trace.names.intern(rows.text(2));
  });
  return names;
}

}  // namespace

void read_samples(const Database& db, Translator& translator, Trace& trace) {
  const MetricNames names = read_metric_names(db, trace);
  std::map<std::int64_t, std::uint16_t> devices;
  std::int64_t unnamed = 0;
  const auto add_sample = [&](TableReader& rows) {
    const Ns start = rows.integer(0);
    const std::int64_t gpu = rows.integer(1), metric = rows.integer(2);
    const double value = rows.real(3);
    if (!rows.sound(start, start) || !std::isfinite(value)) return;
    const auto name = names.find({gpu, metric});
    if (name == names.end()) {
      ++unnamed;
      return;
    }
    const auto [device, added] = devices.try_emplace(gpu);
    // The GPU's id in the report, not a CUDA ordinal.
    if (added) device->second = translator.device(gpu & 0xFF);
    Samples& samples = trace.samples;
    samples.start.push_back(start);
    samples.period.push_back(0);
    samples.metric.push_back(name->second);
    samples.value.push_back(value);
    samples.device.push_back(device->second);
  };
  each_row(db, "sample", {"start", "gpu", "metric", "value"}, trace.problems, add_sample);
  if (unnamed) {
    trace.problems.push_back(
        fmt::format("skipped {} GPU metric sample{} whose metric has no name in the report",
                    unnamed, unnamed == 1 ? "" : "s"));
  }
}

}  // namespace gh::nsys
