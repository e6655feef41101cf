#include "rules/worth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "whatif/touched.hpp"

namespace gh {
namespace {

// Savings count as undiminished by better fixes from this share on: the rest is rounding.
constexpr double all_of_it = 0.99;
// Relative to the step that is left: half of what a trusted replay may be off.
constexpr double as_good_as_explained = 0.01;

// Whether a saving is more than what the message explains, by more than the replay may be off.
bool exceeds(Ns saved_ns, Ns explained_ns, Ns step_ns) {
  return static_cast<double>(saved_ns - explained_ns) >
         as_good_as_explained * static_cast<double>(step_ns - saved_ns);
}

void set_recoverable(Finding& f, Ns ns) {
  f.recoverable_ns = std::clamp<Ns>(ns, 0, f.step_ns);
  f.recoverable_fraction =
      f.step_ns > 0 ? static_cast<double>(f.recoverable_ns) / static_cast<double>(f.step_ns) : 0;
}

void append(Changes& to, const Changes& changes) {
  to.insert(to.end(), changes.begin(), changes.end());
}

// What a finding saves on top of better ones that touch the same: what it adds to their fixes. For
// what only this finding touches, it keeps its full savings, even if they hide behind the others'.
Ns worth_beside(const Finding& f, const Changes& better, const Replay& replay) {
  Touched touched(replay.analysis().trace);
  touched.add(better);
  Changes both = better;
  append(both, f.changes);
  const Ns adds = replay.step_ns(better) - replay.step_ns(both);
  const Changes rest = touched.rest_of(f.changes);
  const Ns own = rest.empty() ? 0 : replay.step_ns({}) - replay.step_ns(rest);
  return std::min(f.alone_ns, std::max(adds, own));
}

// `better`: the findings ranked above it.
void share_with(Finding& f, std::span<const Finding> better, const Replay& replay) {
  if (!f.predicted || f.alone_ns == 0) return;
  Touched by_this(replay.analysis().trace);
  by_this.add(f.changes);
  Changes made;
  std::vector<std::string> after;
  for (const Finding& b : better) {
    if (!b.predicted || b.alone_ns == 0 || !by_this.any_of(b.changes)) continue;
    append(made, b.changes);
    after.push_back(b.fingerprint);
  }
  if (after.empty()) return;
  const Ns worth = worth_beside(f, made, replay);
  if (static_cast<double>(worth) > all_of_it * static_cast<double>(f.alone_ns)) return;
  set_recoverable(f, worth);
  f.after = std::move(after);
  // No longer an error, but still a warning: it may be the fix that can be made.
  if (f.severity_by_worth && f.recoverable_fraction < error_at)
    f.severity = std::min(f.severity_alone, Severity::warning);
}

}  // namespace

void predict(Finding& f, const Replay& replay, const std::string& uncertain, double cited) {
  if (f.changes.empty() || !replay.reason().empty()) return;
  replay.trim(f.changes);
  f.predicted = predicted(replay, f.changes, uncertain);
  f.step_ns = replay.step_ns({});
  set_recoverable(f, f.step_ns - f.predicted->step_ns);
  // A ceiling does not justify claiming more time than the finding cites.
  if (!replay.trusted()) claim_at_most(f, cited);
  f.about = replay.trusted();
}

void claim_at_most(Finding& f, double share) {
  if (share >= f.recoverable_fraction) return;
  set_recoverable(f, std::llround(share * static_cast<double>(f.step_ns)));
  if (!f.predicted) return;
  f.predicted->step_ns = f.step_ns - f.recoverable_ns;
  f.predicted->most_ns = std::max(f.predicted->most_ns, f.predicted->step_ns);
}

void stay_with_explained(Finding& f) {
  if (!f.explained_ns || f.step_ns <= 0) return;
  if (!f.predicted || !exceeds(f.recoverable_ns, *f.explained_ns, f.step_ns))
    claim_at_most(f, static_cast<double>(*f.explained_ns) / static_cast<double>(f.step_ns));
}

void say_what_else_is_saved(Finding& f) {
  if (!f.explained_ns) return;
  const Ns saved = f.masked ? f.recoverable_ns : f.alone_ns;
  if (!exceeds(saved, *f.explained_ns, f.step_ns)) return;
  f.message +=
      fmt::format(" The fix {} {} more than that: work after it starts earlier or is replaced too.",
                  f.about ? "saves" : "may save up to", duration(saved - *f.explained_ns));
}

double worth_if_overhead_is_most(const Finding& f, const Replay& replay) {
  if (!f.predicted || !replay.trusted()) return 0;
  // PyTorch's profiler also records operators, and there is no bound for how much that adds.
  if (replay.analysis().trace.recording_ns > 0 && replay.measured_ns() == 0) return 0;
  // Vary only the guessed overhead: the fix itself has its most likely effect.
  Changes changes = f.changes;
  for (Change& change : changes)
    std::visit(
        [](auto& c) {
          if constexpr (requires { c.factor; }) c.factor.least = c.factor.by;
        },
        change);
  const Ns now = replay.step_ns({}, Guess::least), then = replay.step_ns(changes, Guess::least);
  return now > 0 ? static_cast<double>(now - then) / static_cast<double>(now) : 0;
}

void take_alone(Finding& f) {
  f.after.clear();
  if (f.predicted) set_recoverable(f, f.alone_ns);
  f.severity = f.severity_alone;
}

void share_worth(std::vector<Finding>& findings, const Replay& replay) {
  for (std::size_t i = 1; i < findings.size(); ++i)
    share_with(findings[i], std::span(findings).first(i), replay);
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
    if (f.predicted) candidates.push_back({f.rule, f.fingerprint, &f.changes, f.alone_ns});
  return make_plan(*report.replay, candidates);
}

}  // namespace gh
