#include "rules/standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.hpp"
#include "rules/estimate.hpp"
#include "whatif/touched.hpp"

namespace gh {
namespace {

// Savings count as undiminished by better fixes from this share on: the rest is rounding.
constexpr double all_of_it = 0.99;

// What a finding saves on top of better ones that touch the same: what it adds to their fixes. For
// what only this finding touches, it keeps its full savings, even if they hide behind the others'.
Ns saved_beside(const Estimated& f, const Changes& better, const Replay& replay) {
  Touched touched(replay.analysis().trace);
  touched.add(better);
  Changes both = better;
  both.insert(both.end(), f.changes.begin(), f.changes.end());
  const Ns adds = replay.step_ns(better) - replay.step_ns(both);
  const Changes rest = touched.rest_of(f.changes);
  const Ns own = rest.empty() ? 0 : replay.step_ns({}) - replay.step_ns(rest);
  return std::min(f.alone_ns, std::max(adds, own));
}

// `better`: the findings ranked above it.
Standing standing_beside(const Placed& placed, std::span<const Placed> better,
                         const Replay& replay) {
  const Estimated& f = *placed.finding;
  Standing s = placed.standing;
  if (!f.replayed || f.alone_ns == 0 || is_to_try(f)) return s;
  Touched by_this(replay.analysis().trace);
  by_this.add(f.changes);
  Changes made;
  std::vector<std::string> after;
  for (const Placed& above : better) {
    const Estimated& b = *above.finding;
    if (!b.replayed || b.alone_ns == 0 || is_to_try(b) || !by_this.any_of(b.changes)) continue;
    made.insert(made.end(), b.changes.begin(), b.changes.end());
    after.push_back(b.fingerprint);
  }
  if (after.empty()) return s;
  const Ns saved = saved_beside(f, made, replay);
  if (static_cast<double>(saved) > all_of_it * static_cast<double>(f.alone_ns)) return s;
  s.recoverable_ns = std::clamp<Ns>(saved, 0, f.step_ns);
  s.recoverable_fraction =
      f.step_ns > 0 ? static_cast<double>(s.recoverable_ns) / static_cast<double>(f.step_ns) : 0;
  s.after = std::move(after);
  // No longer an error, but still a warning: it may be the fix that can be made.
  if (!f.claim.severity && !f.claim.team_severity &&
      severity_at(s.recoverable_fraction) < Severity::error)
    s.severity = std::min(f.severity_alone, Severity::warning);
  return s;
}

std::vector<Placed> standings(const std::vector<Estimated>& findings, const Replay* replay) {
  std::vector<Placed> placed;
  for (const Estimated& f : findings) placed.push_back({&f, standing_alone(f)});
  placed = ranked(std::move(placed));
  if (!replay || !replay->reason().empty()) return placed;
  return widened_by_roots(ranked(shared(placed, *replay)));
}

}  // namespace

Standing standing_alone(const Estimated& f) {
  Standing s;
  s.severity = f.severity_alone;
  s.recoverable_ns = f.alone_ns;
  s.recoverable_fraction = f.alone_fraction;
  s.follows_from = f.root;
  s.predicted = f.replayed;
  return s;
}

std::vector<Placed> shared(const std::vector<Placed>& ranked, const Replay& replay) {
  std::vector<Placed> shared;
  for (const Placed& placed : ranked)
    shared.push_back(
        {placed.finding, standing_beside(placed, std::span(ranked).first(shared.size()), replay)});
  return shared;
}

std::vector<Placed> widened_by_roots(std::vector<Placed> ranked) {
  for (Placed& of : ranked)
    for (const Placed& root : ranked) {
      std::optional<Prediction>& own = of.standing.predicted;
      const std::optional<Prediction>& other = root.standing.predicted;
      if (own && other && root.finding->rule == of.standing.follows_from &&
          other->least_ns < own->least_ns) {
        own->least_ns = other->least_ns;
        own->why =
            fmt::format("the fix of {} may cure this as well; {}", root.finding->rule, own->why);
      }
    }
  return ranked;
}

std::vector<Finding> in_order(std::vector<Estimated> findings, const Replay* replay) {
  std::vector<Finding> ordered;
  for (Placed& placed : standings(findings, replay)) {
    const auto at = static_cast<std::size_t>(placed.finding - findings.data());
    ordered.push_back(reported(std::move(findings[at]), std::move(placed.standing)));
  }
  return ordered;
}

Finding reported(Estimated finding, Standing standing) {
  Finding f{std::move(finding), std::move(standing), {}, {}};
  f.message = f.text;
  if (!f.doubt.empty()) f.message += ' ' + f.doubt;
  const Ns saved = f.masked ? f.recoverable_ns : f.alone_ns;
  if (f.explained_ns && exceeds(saved, *f.explained_ns, f.step_ns))
    f.message += fmt::format(
        " The fix {} {} more than that: work after it starts earlier or is replaced too.",
        f.about ? "saves" : "may save up to", duration(saved - *f.explained_ns));
  return f;
}

std::optional<Plan> plan_of(const std::vector<Finding>& findings, const Replay* replay) {
  if (!replay || !replay->reason().empty()) return std::nullopt;
  std::vector<Candidate> candidates;
  for (const Finding& f : findings)
    if (f.predicted && !is_to_try(f))
      candidates.push_back({f.rule, f.fingerprint, f.fix, &f.changes, f.alone_ns, &*f.predicted});
  return make_plan(*replay, candidates);
}

}  // namespace gh
