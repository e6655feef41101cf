// What fixes are worth: of each finding alone, and of all that matter one after the other.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "finding.hpp"

namespace gh {

/// Replays the step with a finding's changes and sets what is predicted and recoverable from it. Leaves both as the rule has them
/// where there is nothing to replay. `uncertain` is the rule's own reason for the range of its factors.
void predict(Finding& finding, const Replay& replay, const std::string& uncertain);

/// What follows from another finding may be cured by that one's fix, which wins more: the range of its prediction takes that in.
void widen_by_roots(std::vector<Finding>& findings);

/// The plan: of all findings' changes the one that wins most, then, with it made, the one that wins most of the rest, until none wins
/// 2 % of what is left. Nothing where the steps were not replayed.
std::optional<Plan> make_plan(const Report& report);

}  // namespace gh
