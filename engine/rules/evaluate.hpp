// Runs rules on a report, each in its own sandbox, and makes a report of what they find.
//
// The way of a finding, one direction only. Each step takes the values of the one before and makes
// new ones; none changes what it was given.
//
//   1. Finding    a rule returns a table; finding_from_lua.cpp reads and checks it
//   2. Estimate   the step is replayed with its changes: what the fix saves by itself
//   (estimate.cpp)
//   3.            what the team accepts goes aside (suppression.cpp)
//   4. Standing   which comes first (ranking.cpp), what each saves after those above it, and the
//                 message that says so (standing.cpp)
//   5. Plan       the fixes one after the other, until none saves much (whatif/plan.cpp)
//   6.            rules run again on the step that the plan leaves, by the same steps 1 to 5; what
//                 they find there goes to the end of findings and plan (masked.cpp)
//   7.            which layers each is about (finding_layers.cpp)
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Runs rules on a report: what each found and what its fix saves, whether it found nothing, could
/// not check, or failed. A failing rule does not affect the others. `replay`: savings come from
/// replaying the trace with the changes that findings name; without it, from the rules' own claims.
/// `step_ns`: the length of a step in the report that the findings are for; 0 to take it from the
/// replay.
Answers ask_rules(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                  const std::map<std::string, RuleSettings>& settings, const Replay* replay,
                  Ns step_ns = 0);

/// The whole report: all of the steps above. `replayed`: with estimates from a replay.
Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed = true,
                const Accepted& accepted = {});

}  // namespace gh
