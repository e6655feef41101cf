#include "rules/masked.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "rules/evaluate.hpp"
#include "rules/standing.hpp"

namespace gh {
namespace {

constexpr int most_rounds = 3;
// For the replay: with more points, analyzing the steps again takes longer than the rest of the
// report.
constexpr std::size_t most_points = 200'000;

// Relative to today's step: as much as a forecast may be off.
constexpr double most_error = 0.02;

// The recording after the fixes, and what the rules find in it.
struct Round {
  TraceAfter after;
  std::unique_ptr<const Analysis> analysis;
  std::unique_ptr<const Replay> replay;
  StepTime step;
  std::vector<Finding> findings;
  Plan plan;
};

bool gives_trace(const Replay& replay) {
  const Trace& t = replay.analysis().trace;
  // Pages of unified memory move when something touches them, and the replay does not know when.
  const bool migrates = std::any_of(t.ops.copy.begin(), t.ops.copy.end(), is_unified);
  return replay.gives_trace() && replay.points() <= most_points && !migrates &&
         t.gpu_faults.size() == 0;
}

// Whether a replay of the step that the fixes leave is a forecast: its errors are relative to that
// step, so they are scaled to today's.
bool is_forecast(const Replay& replay, Ns today_ns) {
  if (!replay.reason().empty() || replay.collectives()) return false;
  const double share =
      static_cast<double>(replay.recorded_ns()) / static_cast<double>(std::max<Ns>(today_ns, 1));
  return share *
             std::max({replay.uniform_error(), replay.unresolved(), replay.unrepresentative()}) <=
         most_error;
}

Changes changes_of(const Plan& plan, const std::vector<Finding>& findings) {
  Changes made;
  for (const Plan::Fix& fix : plan.fixes)
    for (const Finding& f : findings)
      if (f.fingerprint == fix.fingerprint)
        made.insert(made.end(), f.changes.begin(), f.changes.end());
  return made;
}

// Makes the report with what is masked, round by round.
class Unmasking {
 public:
  Unmasking(Report today, const std::vector<Rule>& rules,
            const std::map<std::string, RuleSettings>& settings, const Accepted& accepted)
      : report_(std::move(today)), rules_(rules), settings_(settings), accepted_(accepted) {
    for (const auto* list : {&report_.findings, &report_.suppressed})
      for (const Finding& f : *list)
        if (f.severity_alone != Severity::note) spoken_.insert(f.fingerprint);
  }

  Report report() && {
    const Replay* replay = report_.replay.get();
    Changes made = changes_of(*report_.plan, report_.findings);
    for (int round = 0; round < most_rounds && !made.empty() && gives_trace(*replay); ++round) {
      auto next = round_after(*replay, made);
      if (!next) break;
      made = changes_of(next->plan, next->findings);
      take(*next);
      replay = next->replay.get();
      rounds_.push_back(std::move(next));
    }
    return std::move(report_);
  }

 private:
  // Rules none of whose fixes have been made: after a fix, kernels keep their names although they
  // do something else. A recording is judged only once.
  std::vector<Rule> rules_to_ask() const {
    std::vector<Rule> rules;
    for (const Rule& rule : rules_)
      if (rule.category != "capture" && !rule.after_others &&
          std::none_of(report_.plan->fixes.begin(), report_.plan->fixes.end(),
                       [&](const Plan::Fix& fix) { return fix.rule == rule.id; }))
        rules.push_back(rule);
    return rules;
  }

  // Nothing if there is nothing else to fix.
  std::unique_ptr<Round> round_after(const Replay& replay, const Changes& made) {
    auto round = std::make_unique<Round>();
    round->after = replay.trace_after(made);
    if (round->after.devices.size() != replay.analysis().devices.size()) return nullptr;
    round->analysis = std::make_unique<const Analysis>(
        std::move(round->after.trace), std::move(round->after.devices), replay.analysis().classes,
        replay.analysis().program);
    round->replay = std::make_unique<const Replay>(*round->analysis);
    if (!is_forecast(*round->replay, report_.plan->recorded_ns)) return nullptr;
    const Facts facts(*round->analysis);
    Answers answers = ask_rules(rules_to_ask(), *round->analysis, facts, settings_,
                                round->replay.get(), report_.plan->fixes.back().step.step_ns);
    round->step = answers.step;
    const auto states = states_of(accepted_, answers);
    for (std::size_t i = 0; i < states.size(); ++i)
      if (states[i].second == SuppressionState::used)
        report_.suppressions[i].second = states[i].second;
    std::erase_if(answers.findings, [&](const Estimated& f) {
      return is_accepted(f, accepted_) || f.severity_alone == Severity::note || !f.replayed ||
             spoken_.contains(f.fingerprint);
    });
    round->findings = in_order(std::move(answers.findings), round->replay.get());
    const auto plan = plan_of(round->findings, round->replay.get());
    if (!plan || plan->fixes.empty()) return nullptr;
    round->plan = *plan;
    return round;
  }

  // Adds a round's fixes to the end of the plan and of the findings.
  void take(const Round& round) {
    Plan& plan = *report_.plan;
    const Prediction base = plan.fixes.back().step;
    // What the profiler added to the host's work is still in the step after the fixes, and in its
    // bound.
    Bounds bounds = round.plan.bounds;
    bounds.host_ns = in_proportion(base.step_ns, bounds.host_ns, round.plan.now.step_ns);
    for (const Plan::Fix& fix : round.plan.fixes) {
      const Finding& found =
          *std::find_if(round.findings.begin(), round.findings.end(),
                        [&](const Said& f) { return f.fingerprint == fix.fingerprint; });
      const Prediction step = after(base, fix.step, round.plan.now.step_ns, bounds.least_ns());
      if (!belongs_in_plan(plan.fixes.back().step.step_ns, step.step_ns)) continue;
      Finding f = masked(found, step, round);
      plan.fixes.push_back({fix.rule, fix.fingerprint, step, true});
      spoken_.insert(f.fingerprint);
      // Today it was at most a note.
      std::erase_if(report_.findings,
                    [&](const Said& today) { return today.fingerprint == f.fingerprint; });
      std::erase(report_.clean, f.rule);
      report_.findings.push_back(std::move(f));
    }
    plan.bounds = bounds;
  }

  // The share of `of` that `part` is of `all`.
  static Ns in_proportion(Ns of, Ns part, Ns all) {
    return static_cast<Ns>(static_cast<double>(of) * static_cast<double>(part) /
                           static_cast<double>(std::max<Ns>(all, 1)));
  }

  // The step after a fix, in proportion to the share that the fix leaves of the step before it.
  static Prediction after(const Prediction& base, const Prediction& fix, Ns before_ns,
                          Ns floor_ns) {
    Prediction p{in_proportion(base.step_ns, fix.step_ns, before_ns),
                 in_proportion(base.least_ns, fix.least_ns, before_ns),
                 in_proportion(base.most_ns, fix.most_ns, before_ns),
                 "found on the predicted step after the earlier fixes, which was not recorded"};
    p.step_ns = std::min(std::max(p.step_ns, floor_ns), base.step_ns);
    p.least_ns = std::min(p.least_ns, p.step_ns);
    // No fix makes the step longer than it was before.
    p.most_ns = std::clamp(p.most_ns, p.step_ns, base.most_ns);
    return p;
  }

  // What a round found, as a finding of the recording. `step`: what its fix and those before it
  // leave.
  Finding masked(const Finding& found, const Prediction& step, const Round& round) const {
    const Plan& plan = *report_.plan;
    std::vector<std::string> rules_fixed;
    Estimated f = found;
    Standing standing;
    for (const Plan::Fix& fix : plan.fixes) {
      rules_fixed.push_back(fix.rule);
      standing.after.push_back(fix.fingerprint);
    }
    f.text = fmt::format("With {} fixed: {}", fmt::join(rules_fixed, ", "), found.text);
    f.changes.clear();  // they refer to rows of the step after the fixes
    std::erase_if(f.evidence, [&](Evidence& e) { return !brought_back(e, round); });

    const auto step_ns = static_cast<double>(std::max<Ns>(found.step_ns, 1));
    if (found.explained_ns)
      f.explained_ns = std::llround(static_cast<double>(*found.explained_ns) *
                                    static_cast<double>(round.step.ns) / step_ns);
    f.step_ns = plan.now.step_ns;
    f.alone_ns = 0;
    f.alone_fraction = 0;
    f.severity_alone = Severity::note;  // not seen in a recording yet
    if (f.confidence == "high") f.confidence = "medium";

    standing.masked = true;
    standing.predicted = step;
    standing.recoverable_ns =
        std::clamp<Ns>(plan.fixes.back().step.step_ns - step.step_ns, 0, f.step_ns);
    standing.recoverable_fraction = static_cast<double>(standing.recoverable_ns) /
                                    static_cast<double>(std::max<Ns>(f.step_ns, 1));
    return reported(std::move(f), std::move(standing));
  }

  // Moves evidence back to its place in the recording. Drops a stretch that spans something the
  // fixes removed: it would show that instead.
  bool brought_back(Evidence& e, const Round& round) const {
    // Operations may have been longer before a fix, at most by as much as known fixes shorten them.
    const double much_longer = e.thread.empty() ? 8 : 1.5;
    constexpr Ns short_ns = 1'000;
    const Ns was = e.span.length();
    e.span = round.after.recorded(e.span, static_cast<int>(e.device), e.thread);
    for (auto before = rounds_.rbegin(); before != rounds_.rend(); ++before)
      e.span = (*before)->after.recorded(e.span, static_cast<int>(e.device), e.thread);
    return static_cast<double>(e.span.length() - short_ns) <=
           much_longer * static_cast<double>(was);
  }

  Report report_;
  const std::vector<Rule>& rules_;
  const std::map<std::string, RuleSettings>& settings_;
  const Accepted& accepted_;
  std::set<std::string> spoken_;  // fingerprints of what has already been reported
  std::vector<std::unique_ptr<Round>> rounds_;
};

}  // namespace

Report with_masked(Report today, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings, const Accepted& accepted) {
  if (!today.plan || today.plan->fixes.empty() || !today.replay->trusted() ||
      !today.replay->analysis().trace.doubts.empty())
    return today;
  return Unmasking(std::move(today), rules, settings, accepted).report();
}

}  // namespace gh
