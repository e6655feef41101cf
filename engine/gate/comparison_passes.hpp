// The passes of compare(), in order, each in the file that is named above it.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gate/comparison.hpp"

namespace gh {

/// Adds a reason that is not among them yet; "" is none.
inline void add_once(std::string reason, std::vector<std::string>& reasons) {
  if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) {
    reasons.push_back(std::move(reason));
  }
}

/// What every pass looks at. Neither side is empty.
struct Sides {
  const std::vector<Capture>& before;
  const std::vector<Capture>& after;
  const GateSettings& settings;
  UnitWords unit;  ///< what a step is called now
};

// ---- comparable.cpp: whether the sides can be compared; incomparable() in comparison.hpp

/// How little shows that two programs are the same; "" if enough does.
std::string weak_match_note(const Program& before, const Program& after, const UnitWords& unit);

// ---- trust.cpp: whether the sides are what they are taken for

/// Which settings differ from the baseline's, and which captures are on both sides. Reasons why the
/// gate cannot tell, or notes if the user means them.
void check_trust(Comparison& comparison, const Sides& sides, const Meant& meant);

// ---- changes.cpp: what was measured

/// Of the median step. Only a change above `least_effect` is real.
Difference step_difference(const Sides& sides, double least_effect);
/// Of the mean step, which a few slow ones move and the median does not show.
Difference mean_step_difference(const Sides& sides, double least_effect);
/// Of the median step on the slowest GPU, where both sides have several: one that becomes slower
/// hardly moves the mean of eight. Nothing where a side does not have it.
std::optional<Difference> slowest_gpu_difference(const Sides& sides);
std::vector<CauseChange> account_changes(const Sides& sides, const Difference& step);
/// None if a capture does not have what its steps wait for.
std::vector<WaitChange> wait_changes(const Sides& sides, const Difference& step);
std::vector<KernelChange> kernel_changes(const Sides& sides);
std::vector<FactChange> fact_changes(const Sides& sides, const Difference& step);

/// A difference of a fact, or why there is none.
using FactDifference = std::variant<Difference, std::string>;
FactDifference fact_difference(const Sides& sides, const std::string& fact, double least_effect,
                               double step_before_ns);

// ---- finding_changes.cpp

/// The findings of both sides with what each costs, matched; nothing is judged yet.
std::vector<FindingChange> matched_findings(const Sides& sides, const Difference& step);

// ---- accepted.cpp: what the team has decided to live with

struct Exceptions {
  const std::vector<Suppression>& suppressions;
  const std::string& today;

  /// What costs more than was accepted is not what was accepted. `cost`: nanoseconds a step, or a
  /// budget's value.
  bool hold(const std::string& rule, const std::string& subject, double cost) const;
};

/// Marks the accepted findings. Returns what they add to the step, in nanoseconds.
double accept_findings(std::vector<FindingChange>& findings, const Exceptions& exceptions,
                       const std::vector<Capture>& after);

/// What the step's length says of findings and budgets.
struct StepTrend {
  bool longer = false, shorter = false;
  bool perhaps_longer = false;  ///< neither proved nor ruled out
  double accepted_ns = 0;       ///< what accepted findings add to it
  bool explained = false;       ///< it is longer, perhaps, by no more than these add
};
StepTrend step_trend(const Difference& step, double accepted_ns, const GateSettings& settings);

/// What became of each suppression.
std::vector<std::pair<Suppression, SuppressionState>> suppression_states(
    const Exceptions& exceptions, const Comparison& comparison, const std::vector<Capture>& after);

// ---- finding_changes.cpp again

/// Judges what came in, got worse or went, and sorts by what fails and costs.
void judge_findings(std::vector<FindingChange>& findings, const Sides& sides,
                    const Difference& step, const StepTrend& trend);

/// The worst outcome of a rule over the captures of a side; nullptr if it was not among the rules.
const RuleOutcome* outcome_of(const std::vector<Capture>& captures, const std::string& rule);

// ---- budgets.cpp

/// Of the team's budgets, and of the built-in one for the step if the team sets none.
std::vector<BudgetResult> judge_budgets(const Sides& sides, const Difference& step,
                                        const StepTrend& trend, const Exceptions& exceptions);

// ---- outcome.cpp

/// Decides from all of the above whether the change passes: reasons, notes, verdict and headline.
void decide(Comparison& comparison, const Sides& sides, const StepTrend& trend);

}  // namespace gh
