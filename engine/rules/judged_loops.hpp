// The other loops of a report's program, each judged by itself.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/evaluate.hpp"

namespace gh {

/// Those in a segment of a tenth of the recording or more; takes as long as the report itself for
/// each. Nothing where the user chose what to judge.
std::vector<JudgedLoop> judged_loops(const std::vector<Rule>& rules, const Analysis& analysis,
                                     const Selection& selection,
                                     const std::map<std::string, RuleSettings>& settings,
                                     const Accepted& accepted);

}  // namespace gh
