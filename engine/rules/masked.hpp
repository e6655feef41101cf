// Finds problems that today's problems mask: runs the rules again on the step that the planned
// fixes leave.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// The same report with what its problems mask: applies the planned fixes to the recording, as the
/// replay does, and runs the rules on the result, until nothing else saves much. New findings go
/// after the other findings, and their fixes to the end of the plan. Finds nothing if the replay is
/// no forecast.
Report with_masked(Report today, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings, const Accepted& accepted);

}  // namespace gh
