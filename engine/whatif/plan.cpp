#include "whatif/plan.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "analysis/step_time.hpp"
#include "base/text.hpp"
#include "whatif/changes.hpp"

namespace gh {
namespace {

constexpr std::size_t most_fixes = 8;

Ns times(Ns ns, double by) { return static_cast<Ns>(static_cast<double>(ns) * by); }

constexpr const char* usual_why = "run-to-run variation and the profiler's overhead on the host";

// What a step processes.
struct Items {
  double count = 0;
  std::string what;  // "tokens"
};

// Finds such items in names of ranges, as in "step 7 tokens=8192" or "micro batch, 16 samples".
// Looks at each name once.
class ItemNames {
 public:
  explicit ItemNames(const Names& names) : names_(names), answers_(names.size()) {}

  // Nothing if the name does not say.
  const Items* find(NameId name) {
    if (answers_[name] == not_asked) ask(name);
    return answers_[name] == silent ? nullptr : &telling_.at(name);
  }

 private:
  enum Answer : std::uint8_t { not_asked, silent, telling };

  void ask(NameId name) {
    static const RE2 before_number(R"((?i)\b(tokens|samples)\s*[=:]\s*(\d{1,12})\b)"),
        after_number(R"((?i)\b(\d{1,12})\s*(tokens|samples)\b)");
    Items items;
    if (!RE2::PartialMatch(names_[name], before_number, &items.what, &items.count))
      RE2::PartialMatch(names_[name], after_number, &items.count, &items.what);
    answers_[name] = items.count == 0 ? silent : telling;
    if (items.count != 0) telling_.emplace(name, std::move(items));
  }

  const Names& names_;
  std::vector<Answer> answers_;  // by name
  std::map<NameId, Items> telling_;
};

Items items_in_step(const Analysis& a) {
  const Ranges& ranges = a.trace.ranges;
  const std::vector<Step>& steps = a.devices.front().steps;
  if (steps.size() < 2) return {};
  ItemNames names(a.trace.names);
  std::map<std::string, double> sums;
  std::map<std::uint16_t, Ns> counted_until;  // by thread
  for (Row r = 0; r < ranges.size(); ++r) {
    if (ranges.start[r] < steps.front().host_start || ranges.start[r] >= steps.back().host_start)
      continue;
    const Items* items = names.find(ranges.name[r]);
    if (!items) continue;
    // Of nested ranges, the outermost includes the others.
    Ns& until = counted_until[ranges.thread[r]];
    if (ranges.start[r] < until) continue;
    until = ranges.end[r];
    sums[items->what] += items->count;
  }
  if (sums.empty()) return {};
  const auto& [what, sum] = *sums.begin();
  return {sum / static_cast<double>(steps.size() - 1), what};
}

// The step that is left of `step_ns` once `fix` is made on top of `made`.
Ns step_after(const Replay& replay, const Candidate& fix, const Changes& made, Ns step_ns) {
  Changes with = made;
  with.insert(with.end(), fix.changes->begin(), fix.changes->end());
  const Ns ns = std::min(replay.step_ns(with), step_ns);
  // A finding claims no more than what it cites, and neither does a ceiling on top of others.
  return made.empty() || !replay.trusted() ? std::max(ns, step_ns - fix.most_ns) : ns;
}

// Whether the changes lose where their factors do least, all else being as expected; and less where
// those do most, so that it is the factors that decide.
bool factors_may_lose(const Replay& replay, const Changes& changes) {
  const auto step_at = [&](double Factor::*end) {
    return replay.step_ns(with_factors(changes, [end](Factor& f) { f.by = f.*end; }));
  };
  const Ns if_least_done = step_at(&Factor::most);
  return if_least_done > replay.step_ns({}) && step_at(&Factor::least) < if_least_done;
}

}  // namespace

Prediction predicted(const Replay& replay, const Changes& changes, std::string why) {
  const bool measured = replay.measured_ns() > 0;
  const StepTime& as_is = replay.step();
  if (changes.empty())
    return {as_is.ns, as_is.least_ns, as_is.most_ns,
            measured ? "it was measured without the profiler" : usual_why};
  const Ns now = as_is.ns, host_least = replay.step_ns({}, Guess::least),
           host_most = replay.step_ns({}, Guess::most);
  const Ns best = replay.step_ns(changes), if_least = replay.step_ns(changes, Guess::least),
           if_most = replay.step_ns(changes, Guess::most);
  Prediction p{best, times(std::min(best, if_least), 1 - run_to_run),
               times(std::max(best, if_most), 1 + run_to_run), std::move(why)};
  // A change cannot make the step longer; if the replay says so, it lost a lead that the host had.
  p.step_ns = std::min(p.step_ns, now);
  p.least_ns = std::min(p.least_ns, p.step_ns);
  p.most_ns = std::min(p.most_ns, as_is.most_as_is_ns());
  // As much of the step as of the step at that end, which is longer or shorter.
  const auto saved = [now](Ns before, Ns after) {
    return before <= 0 ? 0
                       : times(now, static_cast<double>(std::max<Ns>(0, before - after)) /
                                        static_cast<double>(before));
  };
  p.saves_if_most_ns = saved(host_least, if_least);
  p.saves_if_least_ns = saved(host_most, if_most);
  p.may_lose = replay.trusted() && p.saves_if_least_ns == 0 && factors_may_lose(replay, changes);
  if (!p.why.empty() && std::abs(host_most - host_least) > times(now, run_to_run))
    p.why += fmt::format(
        "; what recording added to the host is not known precisely: without it, {} takes {} to {} "
        "as it is",
        replay.analysis().words().a, duration(as_is.least_ns), duration(as_is.most_ns));
  if (const Ns off = replay.unexplained_ns(); off != 0) {
    if (!p.why.empty()) p.why += "; ";
    p.why += off > 0 ? fmt::format("recording added {} beyond what a profiler is known to add",
                                   duration(off))
                     : fmt::format("the measured {} is {} longer than the recorded one",
                                   replay.analysis().words().noun, duration(-off));
  }
  if (!replay.trusted()) {
    p.most_ns = std::max(p.most_ns, now);
    p.why = replay.distrust() + (p.why.empty() ? "" : "; " + p.why);
  } else if (p.why.empty()) {
    p.why = measured ? "run-to-run variation" : usual_why;
  }
  return p;
}

bool belongs_in_plan(Ns before_ns, Ns after_ns) {
  constexpr double least_gain = 0.02;
  return static_cast<double>(before_ns - after_ns) >= least_gain * static_cast<double>(before_ns);
}

Plan make_plan(const Replay& replay, const std::vector<Candidate>& candidates) {
  Plan plan;
  plan.recorded_ns = replay.recorded_ns();
  plan.now = predicted(replay, {}, "");
  plan.measured = replay.measured_ns() > 0;
  plan.ceiling = replay.distrust();
  const Items items = items_in_step(replay.analysis());
  plan.items = items.count;
  plan.item = items.what;
  Changes made;
  std::set<std::string> planned;
  Ns step = plan.now.step_ns;
  // In the order of the findings, so that the plan and the findings count alike.
  for (const Candidate& fix : candidates) {
    if (plan.fixes.size() == most_fixes) break;
    if (!fix.fix.empty() && planned.contains(fix.fix)) continue;
    const Ns left = step_after(replay, fix, made, step);
    if (!belongs_in_plan(step, left)) continue;
    made.insert(made.end(), fix.changes->begin(), fix.changes->end());
    Prediction after = plan.fixes.empty() ? *fix.alone : predicted(replay, made, "");
    after.step_ns = left;
    after.least_ns = std::min(after.least_ns, left);
    after.most_ns = std::max(after.most_ns, left);
    plan.fixes.push_back({fix.rule, fix.fingerprint, std::move(after)});
    planned.insert(fix.fix);
    step = left;
  }
  plan.bounds = replay.bounds(made);
  // The replayed steps may use up a lead that the host had when they began.
  if (!plan.fixes.empty())
    plan.fixes.back().step.most_ns =
        std::max(plan.fixes.back().step.most_ns, plan.bounds.least_ns());
  return plan;
}

}  // namespace gh
