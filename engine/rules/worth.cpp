#include "rules/worth.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gh {

void predict(Finding& f, const Replay& replay, const std::string& uncertain) {
  if (f.changes.empty() || !replay.reason().empty()) return;
  replay.trim(f.changes);
  f.predicted = predicted(replay, f.changes, uncertain);
  const Ns now = replay.step_ns({});
  f.recoverable_ns = std::clamp<Ns>(now - f.predicted->step_ns, 0, now);
  f.recoverable_fraction = static_cast<double>(f.recoverable_ns) / static_cast<double>(now);
  f.about = replay.trusted();
}

void widen_by_roots(std::vector<Finding>& findings) {
  for (Finding& f : findings)
    for (const Finding& root : findings)
      if (f.predicted && root.predicted && root.rule == f.follows_from &&
          root.predicted->least_ns < f.predicted->least_ns) {
        f.predicted->least_ns = root.predicted->least_ns;
        f.predicted->why =
            fmt::format("the fix of {} may cure this as well; {}", root.rule, f.predicted->why);
      }
}

std::optional<Plan> plan_of(const Report& report) {
  if (!report.replay || !report.replay->reason().empty()) return std::nullopt;
  std::vector<Candidate> candidates;
  for (const Finding& f : report.findings)
    if (f.predicted) candidates.push_back({f.rule, f.fingerprint, &f.changes});
  return make_plan(*report.replay, std::move(candidates));
}

}  // namespace gh
