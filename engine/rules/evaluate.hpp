// Runs rules on a report, each in its own sandbox.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Runs rules on a report: what each found, whether it found nothing, could not check, or failed. A
/// failing rule does not affect the others. `replay`: savings come from replaying the trace with
/// the changes that findings name; without it, from the rules' own estimates. Nothing is ranked
/// yet. `step_ns`: the length of a step in the report that the findings are for; 0 to take it from
/// the replay.
Report ask_rules(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                 const std::map<std::string, RuleSettings>& settings,
                 std::shared_ptr<const Replay> replay, Ns step_ns = 0);

/// Ranks the findings and sets what each saves in that order. May be called again.
void settle(Report& report);

/// The whole report, in order: builds the replay if `replayed`, runs the rules, ranks their
/// findings and divides the savings among them, suppresses what the team accepts, plans the fixes,
/// and runs the rules again on the step that the fixes leave.
Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed = true,
                const Accepted& accepted = {});

}  // namespace gh
