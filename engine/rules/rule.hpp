// A rule as its file defines it, and how a configuration changes it.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rules/finding.hpp"
#include "rules/sandbox.hpp"

namespace gh {

using OptionValue = std::variant<double, bool, std::string>;

/// Between what a factor of a forecast lies, and what says so: a measurement or a paper.
struct FactorRange {
  double least = 0, most = 0;
  std::string source;
};

struct RuleOption {
  OptionValue value;                 ///< the default
  std::string unit;                  ///< "fraction", "ns", "bytes", "count", ...
  std::string doc;                   ///< what it does, and where its default comes from
  std::optional<FactorRange> range;  ///< of one of the rule's `factors`
};

/// The contents of the table that a rule file returns.
struct Rule {
  std::string id;                                ///< "data-loader-starvation"
  std::string category;                          ///< its folder: "input"
  std::string title;                             ///< one line of the catalogue: what the rule finds
  std::string since;                             ///< the program's version that brought it
  std::vector<Source> needs;                     ///< without these it is not checked
  std::map<std::string, RuleOption> options;     ///< and factors, which are set alike
  std::map<std::string, std::string> messages;   ///< templates: "{idle:lost} of {each_step}"
  std::map<std::string, std::string> headlines;  ///< by message, templates of a finding's title
  std::string what, why, fix, wrong;             ///< its documentation
  double warning_at = gh::warning_at;  ///< the share of the step from which a finding is a warning
  bool after_others = false;           ///< asked last, and told what the others found
  std::string path;                    ///< shown in errors
  std::string source;                  ///< the Lua text
  LuaCode code;                        ///< what it compiles to
};

/// How the configuration changes a rule.
struct RuleSettings {
  std::map<std::string, OptionValue> options;
  std::optional<Severity> severity;            ///< of all its findings
  std::map<std::string, std::string> origins;  ///< where each was set: "gh-advise.toml:6"

  /// The option as set here, or else its default.
  const OptionValue& value_of(const std::string& name, const RuleOption& option) const {
    const auto set = options.find(name);
    return set == options.end() ? option.value : set->second;
  }
};

/// The share of the step from which a rule warns: its `warning_at`, or the option `share` below
/// which it reports nothing.
double warns_from(const Rule& rule, const RuleSettings& settings);

}  // namespace gh
