// Rules: one Lua file each. This loads them, holds them to the contract, and evaluates them in the
// sandbox.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rules/finding.hpp"

namespace gh {

using OptionValue = std::variant<double, bool, std::string>;

struct RuleOption {
  OptionValue value;  ///< the default
  std::string unit;   ///< "fraction", "ns", "bytes", "count", ...
  std::string doc;    ///< what it does, and where its default comes from
};

/// A rule file returns one table; this is what stands in it.
struct Rule {
  std::string id;             ///< "data-loader-starvation"
  std::string category;       ///< its folder: "input"
  std::string title;          ///< one line
  std::string since;          ///< the program's version that brought it
  std::vector<Source> needs;  ///< without these it is not checked
  std::map<std::string, RuleOption> options;
  std::map<std::string, std::string> messages;  ///< templates: "{idle:duration} of {step:duration}"
  std::string what, why, fix, wrong;            ///< its documentation
  double warning_at = 0.05;  ///< recoverable fraction of the step from which a finding is a warning
  std::string path;          ///< shown in errors
  std::string source;        ///< the Lua text
};

/// What the configuration changes about a rule.
struct RuleSettings {
  std::map<std::string, OptionValue> options;
  std::optional<Severity> severity;            ///< of all its findings
  std::map<std::string, std::string> origins;  ///< where each was set: "gh-advise.toml:6"
};

/// Reads one rule. Throws Error that names file and line where it breaks the contract.
Rule load_rule(std::string source, const std::string& path);

/// The program's own rules, by id.
std::vector<Rule> own_rules();

/// Every rule below a directory (*.lua but not *.test.lua). Throws Error, which starts with `said`
/// ("--rules"), where there is none.
std::vector<Rule> rules_in(const std::filesystem::path& directory, const std::string& said);

/// The share of the step from which a rule warns: its `warning_at`, or the option `share` below
/// which it finds nothing.
double warns_from(const Rule& rule, const RuleSettings& settings);

/// Adds a team's rules to others; one with the id of another takes its place, and a line in `notes`
/// says so.
void add_rules(std::vector<Rule>& rules, std::vector<Rule> added, std::vector<std::string>& notes);

/// Evaluates rules on a report: what each found, found clean, could not check, or failed at. One
/// that fails does not hinder another. `replayed`: what findings are worth is told by replaying the
/// trace with the changes that they name, else by the rules' own account.
Report evaluate(const std::vector<Rule>& rules, const Analysis& analysis, const Facts& facts,
                const std::map<std::string, RuleSettings>& settings, bool replayed = true);

}  // namespace gh
