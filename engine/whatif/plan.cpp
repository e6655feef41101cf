#include "whatif/plan.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace gh {
namespace {

// Steps of the same program differ by this much from run to run, and from a recording without its
// overhead (59 recordings: median 1 %).
constexpr double spread = 0.06;
constexpr double least_worth = 0.02;  // of the step that is left, for a fix to be part of the plan
constexpr std::size_t most_fixes = 8;

Ns times(Ns ns, double by) { return static_cast<Ns>(static_cast<double>(ns) * by); }

// What a step works on, from ranges such as "step 7 tokens=8192" or "micro batch, 16 samples".
std::pair<double, std::string> items_in_step(const Analysis& a) {
  static const RE2 before(R"((?i)\b(tokens|samples)\s*[=:]\s*(\d{1,12})\b)"),
      after(R"((?i)\b(\d{1,12})\s*(tokens|samples)\b)");
  std::map<NameId, std::pair<double, std::string>> names;  // that tell
  enum : std::uint8_t { not_asked, silent, telling };
  std::vector<std::uint8_t> asked(a.trace.names.size());
  std::map<std::string, double> sums;
  std::map<std::uint16_t, Ns> counted_until;  // by thread
  const Ranges& ranges = a.trace.ranges;
  const std::vector<Step>& steps = a.devices.front().steps;
  for (Row r = 0; r < ranges.size(); ++r) {
    if (ranges.start[r] < steps.front().host_start || ranges.start[r] >= steps.back().host_start)
      continue;
    const NameId name = ranges.name[r];
    if (asked[name] == not_asked) {
      auto& [count, item] = names[name];
      if (!RE2::PartialMatch(a.trace.names[name], before, &item, &count))
        RE2::PartialMatch(a.trace.names[name], after, &count, &item);
      asked[name] = count == 0 ? silent : telling;
      if (count == 0) names.erase(name);
    }
    if (asked[name] == silent) continue;
    // Of ranges inside each other the outermost says it all.
    Ns& until = counted_until[ranges.thread[r]];
    if (ranges.start[r] < until) continue;
    const auto& [count, item] = names.at(name);
    until = ranges.end[r];
    sums[item] += count;
  }
  if (sums.empty()) return {0, ""};
  const auto& [item, sum] = *sums.begin();
  return {sum / static_cast<double>(steps.size() - 1), item};
}

}  // namespace

Prediction predicted(const Replay& replay, const Changes& changes, std::string why) {
  const Ns now = replay.step_ns({}), best = replay.step_ns(changes),
           least = std::min(best, replay.step_ns(changes, Guess::least)),
           most = std::max(best, replay.step_ns(changes, Guess::most));
  Prediction p{best, times(least, 1 - spread), times(most, 1 + spread), std::move(why)};
  // A change cannot make the step longer; where the replay says so, it lost a stretch that the host
  // had in hand.
  p.step_ns = std::min(p.step_ns, now);
  p.least_ns = std::min(p.least_ns, p.step_ns);
  const Ns host_least = replay.step_ns({}, Guess::least),
           host_most = replay.step_ns({}, Guess::most);
  if (!p.why.empty() && std::abs(host_most - host_least) > times(now, spread))
    p.why += "; what the profiler adds to the host's calls is not known better";
  if (!replay.trusted()) {
    p.most_ns = std::max(p.most_ns, now);
    p.why = replay.distrust() + (p.why.empty() ? "" : "; " + p.why);
  } else if (p.why.empty())
    p.why = "from run to run, and what the profiler adds to the host's calls";
  return p;
}

Plan make_plan(const Replay& replay, std::vector<Candidate> rest) {
  Plan plan;
  plan.recorded_ns = replay.recorded_ns();
  plan.now = predicted(replay, {}, "");
  plan.ceiling = replay.distrust();
  std::tie(plan.items, plan.item) = items_in_step(replay.analysis());
  Changes made;
  Ns step = plan.now.step_ns;
  while (!rest.empty() && plan.fixes.size() < most_fixes) {
    std::size_t best = 0;
    Ns best_ns = step;
    for (std::size_t i = 0; i < rest.size(); ++i) {
      Changes with = made;
      with.insert(with.end(), rest[i].changes->begin(), rest[i].changes->end());
      // Findings come the best first, a root before what follows from it: a later one has to win
      // clearly more.
      const Ns ns = replay.step_ns(with);
      if (best_ns == step
              ? ns < best_ns
              : static_cast<double>(best_ns - ns) > least_worth * static_cast<double>(step)) {
        best = i;
        best_ns = ns;
      }
    }
    if (static_cast<double>(step - best_ns) < least_worth * static_cast<double>(step)) break;
    const Candidate f = rest[best];
    made.insert(made.end(), f.changes->begin(), f.changes->end());
    plan.fixes.push_back({f.rule, f.fingerprint, predicted(replay, made, "")});
    step = best_ns;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(best));
  }
  plan.bounds = replay.bounds(made);
  // The replayed steps may live off a lead that the host had when they began.
  if (!plan.fixes.empty())
    plan.fixes.back().step.most_ns = std::max({plan.fixes.back().step.most_ns, plan.bounds.host_ns,
                                               plan.bounds.compute_ns, plan.bounds.link_ns});
  return plan;
}

}  // namespace gh
