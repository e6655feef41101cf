// What a verdict depends on in addition to the captures: the program, the rules, and the team's
// settings. A baseline stores them, so that a merge cannot change them unseen.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "rules/config.hpp"
#include "rules/rules.hpp"

namespace gh {

/// By name, "gate.alpha", each as text; a long one, such as a rule, as its digest.
using SettingsInEffect = std::map<std::string, std::string>;

/// All settings of a configuration, defaults included, and every rule that it selects. `rules` are
/// all rules, also the team's. Options of the command line do not count: whoever types them knows.
SettingsInEffect settings_in_effect(const Config& config, const std::vector<Rule>& rules);

/// The name of a suppression among them: everything but its reason.
std::string setting_name(const Suppression& suppression);

/// How settings differ from a baseline's: "gate.alpha is 0 instead of 0.05". Suppressions are not
/// compared here: an expired one changes nothing, and the gate names those in use.
std::vector<std::string> changed_settings(const SettingsInEffect& before,
                                          const SettingsInEffect& now);

}  // namespace gh
