// What the fixes of findings save, from replaying the step with their changes (whatif/).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rules/finding.hpp"
#include "whatif/plan.hpp"

namespace gh {

/// Replays the step with a finding's changes and sets its predicted step and savings from that.
/// Leaves both as the rule set them if there is nothing to replay. `uncertain` is the rule's own
/// reason for the range of its factors; `cited`: the share of the recorded step that the finding
/// cites.
void predict(Finding& finding, const Replay& replay, const std::string& uncertain, double cited);

/// Limits the savings to this share of the step.
void claim_at_most(Finding& finding, double share);

/// Limits savings to what the message explains, unless a replay exceeds that by more than it may be
/// off.
void stay_with_explained(Finding& finding);

/// If a replay saves more than the message explains, the message says so.
void say_what_else_is_saved(Finding& finding);

/// The least that a predicted fix saves, as a share of the step, if recording added the most ever
/// observed. 0 if that is unknown or the replay is no forecast.
double worth_if_overhead_is_most(const Finding& finding, const Replay& replay);

/// Divides savings among findings, in order of rank, that touch the same operations, calls or host
/// time: the first keeps what it saves alone, each further one only what it adds. A root comes
/// before its consequences and so keeps its own savings.
void share_worth(std::vector<Finding>& findings, const Replay& replay);

/// Undoes that: the finding saves what it saves alone.
void take_alone(Finding& finding);

/// The fix of a root cause may also cure its consequences and then saves more: widens the range of
/// their predictions accordingly.
void widen_by_roots(std::vector<Finding>& findings);

/// The plan of all fixes that can be replayed. Nothing if the steps were not replayed.
std::optional<Plan> plan_of(const Report& report);

}  // namespace gh
