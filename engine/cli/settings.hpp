// The team's configuration and the rules that hold for a run.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "advise.hpp"
#include "cli/options.hpp"

namespace gh {

struct Settings {
  Config config;
  std::string config_path;      ///< "" without one
  std::vector<Rule> all_rules;  ///< before --select and --ignore

  /// Reads the configuration and the rules; says on standard error which rules replace others.
  explicit Settings(const RuleOptions& options);

  /// All files that are read: these and the configuration.
  std::vector<std::string> inputs(std::vector<std::string> files) const;
  /// The rules that are asked.
  std::vector<Rule> rules(const RuleOptions& options) const;
  /// The severity from which on a finding fails the run: --fail-on's, else the configuration's.
  std::optional<Severity> fail_on(const std::string& option) const;
  /// To analyse a report, whose files are still to be named. Notes go to standard error.
  Request request(const ReportOptions& options) const;
  /// The same, and to ask `rules` about it.
  Request request(std::vector<Rule> rules, const ReportOptions& options) const;
};

/// "2026-11-21".
std::string today();

/// Prints a note for each suppression that is expired or unused.
void print_suppression_notes(
    const std::vector<std::pair<Suppression, SuppressionState>>& suppressions);

/// The recorded reports that the build unpacks next to the program.
std::filesystem::path fixtures_beside_program();

}  // namespace gh
