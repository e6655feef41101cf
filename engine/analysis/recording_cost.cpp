#include "analysis/recording_cost.hpp"

#include "base/schema_table.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

struct Costs {
  Ns range = 0, operator_range = 0;
};

const Costs& costs() {
  static const Costs known = [] {
    const toml::table toml = schema_table("schemas/overhead.toml");
    return Costs{toml["nsys"]["range"].value_or(Ns{0}),
                 toml["nsys"]["operator_range"].value_or(Ns{0})};
  }();
  return known;
}

}  // namespace

RecordingCost::RecordingCost(const Trace& trace) : trace_(trace), by_name_(trace.names.size()) {
  // PyTorch's profiler: a range is an operator, and frames and memory events lie in these.
  if (trace.recording_ns > 0 && trace.ranges.size() > 0) {
    by_name_.assign(by_name_.size(), trace.recording_ns / static_cast<Ns>(trace.ranges.size()));
    return;
  }
  for (NameId id = 0; id < by_name_.size(); ++id) {
    const std::string& name = trace.names[id];
    by_name_[id] =
        without_arguments(name).size() < name.size() ? costs().operator_range : costs().range;
  }
}

Ns RecordingCost::of_all() const {
  if (trace_.recording_ns > 0) return trace_.recording_ns;
  Ns ns = 0;
  for (Row r = 0; r < trace_.ranges.size(); ++r) ns += of_range(r);
  return ns;
}

}  // namespace gh
