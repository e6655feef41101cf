// The result of `check`, `gate` or `fleet`, in the one form that every format of CI systems is
// rendered from.
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
  std::optional<FindingState> change;  ///< if it was compared with a baseline
  bool fails = false;
  UnitWords unit = {};  ///< the report's word for a step
};

/// A report that was checked.
struct CiReport {
  std::string path, steps;  ///< "5 training steps of 47.4 ms (median)"
  std::string verdict;      ///< what a report says first; "" of a fleet
  /// A line a fix, in order: "Load batches in worker processes: 160.1 ms → 46.8 ms, 3.4x faster".
  std::vector<std::string> plan;
  std::string plan_total;  ///< what all fixes bring together, or ""
  /// Causes, as people see them, and their shares, the largest first.
  std::vector<std::pair<std::string, double>> account;
};

/// The result of `check`, `gate` or `fleet`, for the formats that CI systems read.
struct CiResult {
  Verdict verdict = Verdict::passes;
  std::string headline;
  std::vector<CiFinding> findings;  ///< the most important first
  std::vector<CiReport> reports;    ///< of `check` and `fleet`
  std::vector<std::string> errors;  ///< what could not be judged, and why
  std::vector<Rule> rules;          ///< that ran
  /// Of each rule, by id; the worst over several reports.
  std::map<std::string, RuleOutcome> outcomes;
  std::vector<std::string> kept_budgets;  ///< facts

  /// Adds what was found in one report; from `fail_on` on a finding fails.
  void add(const Analysis& analysis, const Report& report, std::optional<Severity> fail_on);
};

/// The result of `gate`; `after` is empty if nothing could be read.
CiResult ci_result(const Comparison& comparison, const std::vector<Capture>& after,
                   const std::vector<Rule>& rules);

/// The result of `fleet`; the caller adds verdict and errors. `name` is the name of the job.
CiResult fleet_ci_result(const Fleet& fleet, const std::vector<Rule>& rules,
                         const std::string& name, std::optional<Severity> fail_on);

}  // namespace gh
