// Which finding comes first.
#pragma once
#include <vector>

#include "rules/finding.hpp"

namespace gh {

/// The order of findings: what puts the report in doubt, notes last, by what is recoverable, then
/// by rule and subject, so that it is total. What follows from another finding stands behind it,
/// and a root weighs as much as the heaviest that follows from it. A `follows_from` that no finding
/// above a note bears out is taken back.
void rank(std::vector<Finding>& findings);

}  // namespace gh
