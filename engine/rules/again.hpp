// What today's problems mask: rules asked again on the step that the fixes of the plan leave.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Makes the fixes of the plan in the recording, as the replay moves it, and asks the rules about
/// what that leaves, until nothing more wins. What they find there and did not find before comes
/// behind the other findings, and its fixes at the end of the plan. Where the replay is no forecast
/// nothing is asked.
void ask_again(Report& report, const std::vector<Rule>& rules,
               const std::map<std::string, RuleSettings>& settings, const Accepted& accepted);

}  // namespace gh
