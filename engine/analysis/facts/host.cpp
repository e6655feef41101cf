#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"

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
  // Steps of several devices run side by side.
  return per(ns,
             static_cast<double>(a.step_count()) /
                 std::max<double>(1, static_cast<double>(a.devices.size())),
             "no steps");
}

}  // namespace gh::fact
