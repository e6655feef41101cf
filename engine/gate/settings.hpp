// What a verdict depends on beside the captures: the program, the rules, and what a team set. A
// baseline keeps it, so that a merge cannot change it unseen.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/config.hpp"
#include "rules/rules.hpp"

namespace gh {

/// By name, "gate.alpha", each as a text; of what is long, such as a rule, its digest.
using SettingsInEffect = std::map<std::string, std::string>;

/// All that a configuration sets or leaves as it is, and every rule that it asks for. `rules` are
/// those that there are, the team's too. What is given on the command line does not count: whoever
/// gives it says so.
SettingsInEffect settings_in_effect(const Config& config, const std::vector<Rule>& rules);

/// The name of a suppression among them, which says all but its reason.
std::string setting_name(const Suppression& suppression);

/// What differs from a baseline's settings, in words: "gate.alpha is 0 instead of 0.05".
/// Suppressions aside: an expired one changes nothing, and one in use is told by name.
std::vector<std::string> changed_settings(const SettingsInEffect& before,
                                          const SettingsInEffect& now);

}  // namespace gh
