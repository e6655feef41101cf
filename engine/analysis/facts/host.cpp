#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"
#include "analysis/structure/structure.hpp"

namespace gh::fact {

FactValue loader_ns_per_step(const Analysis& a) {
  const Span window = a.analysed_window();
  std::vector<Span> spans;
  for (Row r = 0; r < a.trace.ranges.size(); ++r)
    if (a.names.is_phase(Phase::loader, a.trace.ranges.name[r]))
      spans.push_back({std::max(window.start, a.trace.ranges.start[r]),
                       std::min(window.end, a.trace.ranges.end[r])});
  const auto ns = static_cast<double>(total(united(std::move(spans))));
  if (ns <= 0) return Unknown{"no range marks the data loader"};
  // Steps of several devices run in parallel.
  return per(ns,
             static_cast<double>(a.step_count()) /
                 std::max<double>(1, static_cast<double>(a.devices.size())),
             "there are no steps");
}

namespace {

// What the profiler recorded about the launching threads while the GPU was idle, as a share of a
// time.
FactValue share_of_idle(const Analysis& a, Ns HostWork::Seen::*part, Ns HostWork::Seen::*whole) {
  std::vector<HostWork::Stretch> stretches;
  Ns total = 0;
  for (const DeviceAccount& device : a.account.devices)
    for (const Idle& idle : device.idle) {
      if (idle.thread == no_index) continue;
      stretches.push_back({idle.thread, idle.span});
      total += idle.span.length();
    }
  const HostWork::Seen seen = a.structure().host_work().seen(stretches);
  return per(static_cast<double>(seen.*part), static_cast<double>(whole ? seen.*whole : total),
             "the GPU was never idle");
}

}  // namespace

FactValue held_off(const Analysis& a) {
  return share_of_idle(a, &HostWork::Seen::held_off_ns, &HostWork::Seen::scheduled_ns);
}

FactValue waits_for_python_lock(const Analysis& a) {
  return share_of_idle(a, &HostWork::Seen::lock_ns, nullptr);
}

}  // namespace gh::fact
