// What the team has decided to live with: exceptions for findings and budgets.
#include <algorithm>

#include "gate/comparison_passes.hpp"
#include "gate/statistics.hpp"

namespace gh {
namespace {

// Whether a suppression accepts a finding or a budget of the comparison.
bool is_used(const Suppression& s, const Comparison& c) {
  const auto fits = [&](const Finding& f) {
    return f.rule == s.rule && glob_match(s.subject, f.subject);
  };
  return std::any_of(c.findings.begin(), c.findings.end(),
                     [&](const FindingChange& f) {
                       return f.change == FindingState::accepted && fits(f.finding);
                     }) ||
         std::any_of(c.budgets.begin(), c.budgets.end(), [&](const BudgetResult& b) {
           return b.state == BudgetResult::State::accepted && fits(finding_of(b));
         });
}

SuppressionState state_of(const Suppression& s, const std::string& today, const Comparison& c,
                          const std::vector<Capture>& after) {
  if (!s.holds(today)) return SuppressionState::expired;
  if (is_used(s, c)) return SuppressionState::used;
  const RuleOutcome* outcome = outcome_of(after, s.rule);
  const bool looked =
      s.rule == "budget" || (outcome && outcome->state == RuleOutcome::State::looked);
  return looked ? SuppressionState::unused : SuppressionState::not_checked;
}

}  // namespace

bool Exceptions::hold(const std::string& rule, const std::string& subject, double cost) const {
  return std::any_of(suppressions.begin(), suppressions.end(), [&](const Suppression& s) {
    return s.holds(today) && s.rule == rule && glob_match(s.subject, subject) &&
           (!s.up_to || cost <= *s.up_to);
  });
}

// Each finding is accepted by what its fix alone saves. Fixes may save the same time, so together
// they explain what each saves after the others, and at least as much as the largest one alone.
double accept_findings(std::vector<FindingChange>& findings, const Exceptions& exceptions,
                       const std::vector<Capture>& after) {
  double together_ns = 0, largest_ns = 0;
  for (FindingChange& f : findings) {
    if (f.present && f.change != FindingState::better &&
        exceptions.hold(f.finding.rule, f.finding.subject, f.after_ns)) {
      const double more_ns = std::max(0.0, f.after_ns - f.before_ns);
      std::vector<double> beside_others;
      for (const Capture& c : after)
        if (const auto it = c.beside_others_ns.find(fingerprint(f.finding));
            it != c.beside_others_ns.end())
          beside_others.push_back(it->second);
      together_ns += beside_others.empty() ? more_ns : std::min(more_ns, median_of(beside_others));
      largest_ns = std::max(largest_ns, more_ns);
      f.change = FindingState::accepted;
    }
  }
  return std::max(together_ns, largest_ns);
}

StepTrend step_trend(const Difference& step, double accepted_ns, const GateSettings& settings) {
  // The saving of a fix leaves the profiler's overhead out, and is right within about a tenth.
  constexpr double margin = 1.1;
  StepTrend trend;
  trend.longer = step.real && step.effect > 0;
  trend.shorter = step.real && step.effect < 0;
  trend.perhaps_longer = step.open && step.effect > 0;
  trend.accepted_ns = accepted_ns;
  trend.explained = (trend.longer || trend.perhaps_longer) && accepted_ns > 0 &&
                    step.after - margin * accepted_ns <= step.before * (1 + settings.min_effect);
  return trend;
}

std::vector<std::pair<Suppression, SuppressionState>> suppression_states(
    const Exceptions& exceptions, const Comparison& c, const std::vector<Capture>& after) {
  std::vector<std::pair<Suppression, SuppressionState>> states;
  for (const Suppression& s : exceptions.suppressions) {
    states.emplace_back(s, state_of(s, exceptions.today, c, after));
  }
  return states;
}

}  // namespace gh
