// What a run of `check`, `gate` or `fleet` came to, in the one shape that every format of CI
// systems is rendered from.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/comparison.hpp"
#include "job/fleet.hpp"
#include "rules/rules.hpp"

namespace gh {

/// A finding as a CI system shows it.
struct CiFinding {
  Finding finding;
  std::string report;                  ///< path of the report that shows it
  std::optional<FindingState> change;  ///< where it was compared with a baseline
  bool fails = false;
  UnitWords unit = {};  ///< what a step of the report is called
};

/// A report that was checked.
struct CiReport {
  std::string path, steps;  ///< "5 training steps of 47.4 ms (median)"
  /// Causes and their shares, the largest first.
  std::vector<std::pair<std::string, double>> account;
};

/// What `check`, `gate` or `fleet` came to, for the formats that CI systems read.
struct CiResult {
  Verdict verdict = Verdict::passes;
  std::string headline;
  std::vector<CiFinding> findings;  ///< the gravest first
  std::vector<CiReport> reports;    ///< of `check` and `fleet`
  std::vector<std::string> errors;  ///< what could not be judged, and why
  std::vector<Rule> rules;          ///< that were asked
  /// Of the rules, by id; over several reports the worst.
  std::map<std::string, RuleOutcome> outcomes;
  std::vector<std::string> kept_budgets;  ///< facts

  /// Adds what was found in one report; from `fail_on` on a finding fails.
  void add(const Analysis& analysis, const Report& report, std::optional<Severity> fail_on);
};

/// What `gate` came to; `after` may be empty where nothing could be read.
CiResult ci_result(const Comparison& comparison, const std::vector<Capture>& after,
                   const std::vector<Rule>& rules);

/// What `fleet` came to; the caller adds verdict and errors. `name` is what the job is called.
CiResult fleet_ci_result(const Fleet& fleet, const std::vector<Rule>& rules,
                         const std::string& name, std::optional<Severity> fail_on);

}  // namespace gh
