// Rules run on a report, each in a sandbox of its own.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Asks rules about a report: what each found, found clean, could not check, or failed at. One that
/// fails does not hinder another. `replay`: what findings are worth is told by replaying the trace
/// with the changes that they name; without one, by the rules' own account. Nothing is ranked yet.
/// `step_ns`: what a step takes by the report that the findings are for; 0 where the replay says
/// so.
Report ask_rules(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                 const std::map<std::string, RuleSettings>& settings,
                 std::shared_ptr<const Replay> replay, Ns step_ns = 0);

/// The order of findings, and what each is worth in it. May be called again.
void settle(Report& report);

/// The whole report, in the order in which it comes about: builds the replay where it is
/// `replayed`, asks the rules, ranks what they found and shares what it is worth, takes out what
/// the team lives with, plans the fixes, and asks again on the step that they leave.
Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed = true,
                const Accepted& accepted = {});

}  // namespace gh
