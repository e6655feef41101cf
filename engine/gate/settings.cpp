#include "gate/settings.hpp"

#include <fmt/format.h>

#include <set>
#include <variant>

namespace gh {
namespace {

// Marks a digest, which messages do not show.
constexpr const char* digest_mark = "digest ";
constexpr const char *suppression_prefix = "suppress.", *exception_prefix = "accept.";

std::string marked_digest(std::string_view text) { return digest_mark + digest(text); }

std::string text_of(const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable('"' + *text + '"');
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

// "max_increase 0.05, error"
std::string limits_of(const Budget& budget) {
  std::string text;
  for (const auto& [key, limit] : {std::pair("max", budget.max),
                                   {"min", budget.min},
                                   {"max_increase", budget.max_increase},
                                   {"max_decrease", budget.max_decrease}}) {
    if (limit) text += fmt::format("{} {}, ", key, *limit);
  }
  return text + name_of(budget.severity);
}

void add_gate(const GateSettings& gate, SettingsInEffect& settings) {
  settings["gate.fail_on"] = name_of(gate.fail_on.value_or(Severity::warning));
  settings["gate.min_effect"] = fmt::format("{}", gate.min_effect);
  settings["gate.alpha"] = fmt::format("{}", gate.alpha);
  settings["gate.noise_floor"] = fmt::format("{}", gate.noise_floor);
  std::map<std::string, std::set<std::string>> budgets;  // several may be of one fact
  for (const Budget& b : gate.budgets) budgets["budget." + b.fact].insert(limits_of(b));
  for (const auto& [name, limits] : budgets) {
    settings[name] = fmt::format("{}", fmt::join(limits, "; "));
  }
}

void add_rules(const Config& config, const std::vector<Rule>& rules, SettingsInEffect& settings) {
  const std::map<std::string, RuleSettings> set = config.rule_settings(rules);
  for (const Rule& rule : chosen(rules, config.select, config.ignore)) {
    const std::string name = "rule." + rule.id;
    settings[name] = marked_digest(rule.source);
    const auto changed = set.find(rule.id);
    if (changed == set.end()) continue;
    for (const auto& [option, value] : changed->second.options) {
      if (value != rule.options.at(option).value)
        settings[fmt::format("{}.{}", name, option)] = text_of(value);
    }
    if (changed->second.severity) settings[name + ".severity"] = name_of(*changed->second.severity);
  }
}

// "" of what is not set.
const std::string& value_in(const SettingsInEffect& settings, const std::string& name) {
  static const std::string none;
  const auto it = settings.find(name);
  return it == settings.end() ? none : it->second;
}

std::string change_of(const std::string& name, const std::string& before, const std::string& now) {
  if (now.empty()) return fmt::format("{} is gone", name);
  if (now.starts_with(digest_mark)) {
    return fmt::format("{} {}", name, before.empty() ? "is new" : "has changed");
  }
  return fmt::format("{} is {} instead of {}", name, now, before.empty() ? "unset" : before);
}

}  // namespace

SettingsInEffect settings_in_effect(const Config& config, const std::vector<Rule>& rules) {
  SettingsInEffect settings{{"gh-advise", GH_ADVISE_VERSION}};
  add_gate(config.gate, settings);
  add_rules(config, rules, settings);
  for (const char* table : {"kernel_class", "gpu", "ranges"}) {
    if (const std::string text = config.text_of(table); !text.empty()) {
      settings[table] = marked_digest(text);
    }
  }
  for (const Suppression& s : config.gate_exceptions()) settings[setting_name(s)] = s.reason;
  return settings;
}

std::string setting_name(const Suppression& s) {
  return fmt::format("{}{} {}{}{}", s.gate_only ? exception_prefix : suppression_prefix, s.rule,
                     s.subject, s.until.empty() ? "" : ", until " + s.until,
                     s.up_to ? fmt::format(", up to {}", *s.up_to) : "");
}

std::vector<std::string> changed_settings(const SettingsInEffect& before,
                                          const SettingsInEffect& now) {
  std::set<std::string> names;
  for (const SettingsInEffect* side : {&before, &now}) {
    for (const auto& [name, value] : *side) names.insert(name);
  }
  std::vector<std::string> changes;
  for (const std::string& name : names) {
    const std::string &then = value_in(before, name), &here = value_in(now, name);
    if (then != here && !name.starts_with(suppression_prefix) &&
        !name.starts_with(exception_prefix)) {
      changes.push_back(change_of(name, then, here));
    }
  }
  return changes;
}

}  // namespace gh
