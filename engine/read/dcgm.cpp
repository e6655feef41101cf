#include "read/dcgm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "read/dcgm/contents.hpp"
#include "trace/metric_names.hpp"

namespace gh {
namespace {

using dcgm::Sample;
using Devices = std::map<int, std::uint16_t>;  // by GPU index

std::string counted(std::int64_t n, const char* noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

// Notes about what was skipped in the file.
std::vector<std::string> left_out(const dcgm::Contents& contents) {
  std::vector<std::string> notes;
  if (contents.impossible) {
    notes.push_back(fmt::format(
        "skipped {} that {} neither between 0 and 1 nor a possible power or clock",
        counted(contents.impossible, "value"), contents.impossible == 1 ? "is" : "are"));
  }
  if (contents.unread) {
    notes.push_back(fmt::format("skipped {} that cannot be read, the first of them line {}",
                                counted(contents.unread, "line"), contents.first_unread));
  }
  if (contents.instances) {
    notes.push_back(fmt::format("skipped {} of MIG instances", counted(contents.instances, "row")));
  }
  return notes;
}

Devices devices_of(const Trace& trace) {
  Devices devices;
  for (std::size_t d = 0; d < trace.devices.size(); ++d) {
    devices.emplace(trace.devices[d].ordinal, static_cast<std::uint16_t>(d));
  }
  return devices;
}

// Removes samples of GPUs that the report does not contain, and returns those GPUs.
std::set<int> leave_out_strangers(const Devices& devices, std::vector<Sample>& samples) {
  std::set<int> strangers;
  std::erase_if(samples, [&](const Sample& s) {
    const bool is_stranger = !devices.contains(s.gpu);
    if (is_stranger) strangers.insert(s.gpu);
    return is_stranger;
  });
  return strangers;
}

// The value as Samples store it: shares in percent.
double as_sampled(const Sample& s) { return s.activity->is_share() ? 100 * s.value : s.value; }

// Removes metrics that the report sampled itself, because its own samples are finer.
void leave_out_known(const Trace& trace, std::vector<Sample>& samples) {
  std::set<NameId> names(trace.samples.metric.begin(), trace.samples.metric.end());
  std::set<const SampledActivity*> known;
  for (const SampledActivity& a : activities())
    for (const NameId name : names)
      if (part_of(a, trace.names[name]) >= 0) known.insert(&a);
  std::erase_if(samples, [&](const Sample& s) { return known.contains(s.activity); });
}

// How the text begins if the report has its own samples.
std::string own_base(const Trace& trace) {
  return trace.samples.size() > 0 ? "aligned: the report's own samples; other metrics: " : "";
}

void add_means(const std::vector<Sample>& samples, const Devices& devices, bool timed,
               Trace& trace) {
  Monitor& monitor = trace.monitor;
  const char* why =
      timed ? "the report does not contain the time of day" : "it contains samples without times";
  monitor.time_base = fmt::format("{}none: averaged over all of {}, because {}", own_base(trace),
                                  monitor.path, why);
  Availability& have = trace.availability(Source::samples);
  if (trace.samples.size() == 0) {
    have.state = Collected::not_collected;
    have.reason = fmt::format(
        "it is unknown which samples of {} lie within the steps, because {}", monitor.path,
        timed ? "the report does not contain the time of day" : "some have no time");
  }
  std::map<std::pair<std::uint16_t, std::string>, UnalignedMean> means;
  for (const Sample& s : samples) {
    const std::uint16_t device = devices.at(s.gpu);
    UnalignedMean& m = means[{device, s.activity->dcgm_field}];
    m.metric = s.activity->dcgm_field;
    m.device = device;
    m.mean += as_sampled(s);
    ++m.count;
  }
  for (auto& [key, m] : means) {
    m.mean /= static_cast<double>(m.count);
    monitor.unaligned.push_back(m);
  }
}

// A scrape covers the time since the one before. A sample that appears twice, for example for two
// pods on a GPU, counts once.
void add_samples(const std::vector<Sample>& from, const Devices& devices, Trace& trace) {
  trace.monitor.time_base =
      fmt::format("{}aligned: {} by its times", own_base(trace), trace.monitor.path);
  std::map<std::pair<std::uint16_t, NameId>, std::map<Ns, double>> series;
  for (const Sample& s : from) {
    series[{devices.at(s.gpu), trace.names.intern(s.activity->dcgm_field)}].emplace(
        *s.time - trace.epoch_ns, as_sampled(s));
  }
  Samples& samples = trace.samples;
  for (const auto& [key, values] : series) {
    if (values.empty()) continue;
    // The first value is an average since an unknown time, so skip it.
    for (auto it = std::next(values.begin()); it != values.end(); ++it) {
      const Ns begins = std::prev(it)->first, ends = it->first;
      if (begins < trace.capture_start || ends > trace.capture_end) continue;
      samples.start.push_back(ends);
      samples.period.push_back(ends - begins);
      samples.metric.push_back(key.second);
      samples.value.push_back(it->second);
      samples.device.push_back(key.first);
    }
  }
  Availability& have = trace.availability(Source::samples);
  if (samples.size() > 0) {
    have = {Collected::yes, "", have.record_with};
  } else {
    have.state = Collected::not_collected;
    have.reason =
        fmt::format("no sample of {} covers a period within the recording", trace.monitor.path);
  }
  trace.seal();
}

}  // namespace

std::vector<std::string> add_dcgm(Trace& trace, const std::filesystem::path& path) {
  const std::string shown = printable(path.string());
  dcgm::Contents contents = dcgm::read_contents(path, shown);
  std::vector<std::string> notes = left_out(contents);
  const Devices devices = devices_of(trace);
  const std::set<int> strangers = leave_out_strangers(devices, contents.samples);
  if (!strangers.empty()) {
    notes.push_back(fmt::format("skipped GPU {}: not in the report", fmt::join(strangers, ", ")));
  }
  const std::size_t read = contents.samples.size();
  leave_out_known(trace, contents.samples);
  if (contents.samples.size() < read) {
    notes.push_back(contents.samples.empty()
                        ? "not used, because the report has these GPU metrics itself"
                        : "used only for GPU metrics that the report lacks");
  }
  if (read == 0 || !contents.samples.empty()) {
    trace.monitor.path = shown;
    const bool timed = std::all_of(contents.samples.begin(), contents.samples.end(),
                                   [](const Sample& s) { return s.time.has_value(); });
    if (timed && trace.epoch_ns != 0) {
      add_samples(contents.samples, devices, trace);
    } else {
      add_means(contents.samples, devices, timed, trace);
    }
  }
  for (std::string& note : notes) note = fmt::format("--dcgm {}: {}", shown, note);
  return notes;
}

}  // namespace gh
