// What the fixes of findings are worth, told by replaying the step with their changes (whatif/).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rules/finding.hpp"
#include "whatif/plan.hpp"

namespace gh {

/// Replays the step with a finding's changes and sets what is predicted and recoverable from it.
/// Leaves both as the rule has them where there is nothing to replay. `uncertain` is the rule's own
/// reason for the range of its factors; `cited`: the share of the recorded step that the finding
/// cites.
void predict(Finding& finding, const Replay& replay, const std::string& uncertain, double cited);

/// What is recoverable is no more than this share of the step.
void claim_at_most(Finding& finding, double share);

/// A ceiling claims no more than its message explains, and a forecast that says a little more than
/// that, less than a replay may be off, neither.
void stay_with_explained(Finding& finding);

/// Where a forecast says much more than the message explains, the message says so.
void say_what_else_is_saved(Finding& finding);

/// What a predicted fix wins back at least, as a share of the step, if recording has added the most
/// that it was ever seen to add. 0 where that is not known, and where the replay is no forecast.
double worth_if_overhead_is_most(const Finding& finding, const Replay& replay);

/// Findings in the order of their rank that touch the same operations, calls or time of the host do
/// not both have it: the first keeps what it is worth alone, each further one what it adds. A root
/// stands before what follows from it, and so keeps its own.
void share_worth(std::vector<Finding>& findings, const Replay& replay);

/// Takes that back: the finding is worth what it is alone.
void take_alone(Finding& finding);

/// What follows from another finding may be cured by that one's fix, which wins more: the range of
/// its prediction takes that in.
void widen_by_roots(std::vector<Finding>& findings);

/// The plan of all fixes that can be replayed. Nothing where the steps were not replayed.
std::optional<Plan> plan_of(const Report& report);

}  // namespace gh
