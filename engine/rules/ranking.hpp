// Which finding comes first, what its fix is worth, and the plan of all fixes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rules/finding.hpp"
#include "whatif/plan.hpp"

namespace gh {

/// The order of findings: what puts the report in doubt, notes last, by what is recoverable, then
/// by rule and subject, so that it is total. What follows from another finding stands behind it,
/// and a root weighs as much as the heaviest that follows from it. A `follows_from` that no finding
/// above a note bears out is taken back.
void rank(std::vector<Finding>& findings);

/// Replays the step with a finding's changes and sets what is predicted and recoverable from it.
/// Leaves both as the rule has them where there is nothing to replay. `uncertain` is the rule's own
/// reason for the range of its factors.
void predict(Finding& finding, const Replay& replay, const std::string& uncertain);

/// What follows from another finding may be cured by that one's fix, which wins more: the range of
/// its prediction takes that in.
void widen_by_roots(std::vector<Finding>& findings);

/// The plan of all fixes that can be replayed. Nothing where the steps were not replayed.
std::optional<Plan> plan_of(const Report& report);

}  // namespace gh
