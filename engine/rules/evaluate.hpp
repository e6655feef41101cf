// Rules run on a report, each in a sandbox of its own.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Evaluates rules on a report: what each found, found clean, could not check, or failed at. One
/// that fails does not hinder another. `replayed`: what findings are worth is told by replaying the
/// trace with the changes that they name, else by the rules' own account.
Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed = true);

}  // namespace gh
