#include "report/ci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/cause_times.hpp"
#include "report/fleet_phrases.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

// "Load batches in worker processes: 160.1 ms → 46.9 ms, 3.4x faster".
std::string plan_line(const std::string& fix, Ns before_ns, Ns after_ns) {
  return fmt::format("{}: {} → {}, {} faster", fix, duration(before_ns), duration(after_ns),
                     speedup(before_ns, after_ns));
}

CiReport summary_of(const Analysis& analysis, const Report& report) {
  CiReport summary;
  summary.path = analysis.trace.path;
  summary.verdict = verdict_of(analysis, report).text();
  for (const PlanLine& line : plan_lines(report))
    summary.plan.push_back(plan_line(line.fix, line.before_ns, line.after_ns));
  summary.plan_total = plan_total_text(analysis, report);
  summary.steps = analysis.has_steps() ? plural(analysis.step_count(), analysis.unit())
                                       : "no steps were found: the whole window";
  if (const std::string repeats = repeats_text(analysis); !repeats.empty())
    summary.steps += ". " + repeats;
  if (const std::string step = step_time_text(analysis, report.step); !step.empty())
    summary.steps += ". " + step;
  for (const AccountLine& line : account_lines(analysis, report.step))
    if (!line.cause.empty()) summary.account.emplace_back(line.label, line.fraction);
  return summary;
}

CiReport summary_of(const Fleet& fleet, const std::string& name) {
  CiReport summary;
  summary.path = name;
  summary.steps = fmt::format("{}. {}.", fleet_count_text(fleet), fleet_step_text(fleet));
  Ns before_ns = std::llround(fleet.step_ns);
  for (const FleetFix& fix : fleet.plan)
    for (const FleetFinding& f : fleet.findings)
      if (f.finding.fingerprint == fix.fingerprint) {
        const Ns after_ns = std::llround(fix.least_step_ns);
        summary.plan.push_back(plan_line(fix_text(f.finding), before_ns, after_ns) + ", at most");
        before_ns = after_ns;
        break;
      }
  for (const std::string& note : fleet.notes) summary.steps += " Note: " + note + '.';
  for (const Unlike& u : fleet.unlike)
    summary.steps +=
        fmt::format(" Different from the others: {} ({}).", ranks_label(u.ranks), u.what);
  if (fleet.step_ns > 0)
    for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
      double ns = 0;
      for (const FleetRank& rank : fleet.ranks) ns += rank.cause_ns[c];
      const double share = ns / static_cast<double>(fleet.ranks.size()) / fleet.step_ns;
      if (share >= least_account_share)
        summary.account.emplace_back(cause_label(fleet.causes[c]), share);
    }
  return summary;
}

// The worst outcome of a rule over several reports counts.
void worsen(RuleOutcome& outcome, RuleOutcome::State state, const std::string& reason) {
  if (state <= outcome.state) return;
  outcome.state = state;
  outcome.reason = reason;
}

}  // namespace

void CiResult::add(const Analysis& analysis, const Report& report,
                   std::optional<Severity> fail_on) {
  for (const Finding& f : report.findings)
    findings.push_back({f, analysis.trace.path, std::nullopt, fail_on && f.severity >= *fail_on,
                        analysis.words()});
  reports.push_back(summary_of(analysis, report));
  for (const Rule& rule : rules) outcomes[rule.id];
  for (const NotChecked& n : report.not_checked)
    worsen(outcomes[n.rule],
           n.not_recorded ? RuleOutcome::State::not_recorded : RuleOutcome::State::not_checked,
           n.reason);
  for (const Failed& f : report.failed)
    worsen(outcomes[f.rule], RuleOutcome::State::failed, f.error);
}

CiResult ci_result(const Comparison& c, const std::vector<Capture>& after,
                   const std::vector<Rule>& rules) {
  CiResult r;
  r.verdict = c.verdict;
  r.headline = c.headline;
  r.rules = rules;
  r.errors = c.incomparable;
  const std::string report = after.empty() ? c.after : after.front().path;
  // If the gate cannot tell, only that is shown.
  if (c.verdict != Verdict::cannot_tell) {
    for (const BudgetResult& b : c.budgets) {
      if (b.state == BudgetResult::State::broken)
        r.findings.push_back({finding_of(b), report, FindingState::fresh, b.fails, c.unit});
      else if (b.state != BudgetResult::State::unknown)
        r.kept_budgets.push_back(b.budget.fact);
    }
    for (const FindingChange& f : c.findings)
      if (f.present || f.change == FindingState::gone)
        r.findings.push_back({f.finding, report, f.change, f.fails, c.unit});
  }
  for (const Capture& capture : after)
    for (const auto& [id, outcome] : capture.rules) {
      RuleOutcome& worst = r.outcomes[id];
      if (outcome.state >= worst.state) worst = outcome;
    }
  return r;
}

CiResult fleet_ci_result(const Fleet& fleet, const std::vector<Rule>& rules,
                         const std::string& name, std::optional<Severity> fail_on) {
  CiResult result;
  result.rules = rules;
  result.outcomes = fleet.rules;
  for (const Rule& r : rules) result.outcomes[r.id];
  for (const FleetFinding& f : fleet.findings)
    if (!f.suppressed)
      result.findings.push_back(
          {f.finding, name, std::nullopt, fail_on && f.finding.severity >= *fail_on, fleet.unit});
  result.reports.push_back(summary_of(fleet, name));
  return result;
}

}  // namespace gh
