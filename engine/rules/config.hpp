// gh-advise.toml: what a team sets once. Every key is checked; a misspelled one is an error with
// file, line and column.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rules.hpp"

namespace toml {
inline namespace v3 {
class table;
}
}  // namespace toml

namespace gh {

/// A key of the configuration.
struct ConfigKey {
  std::string name;  ///< "ignore", "suppress.reason"
  std::string type;  ///< "list of strings"
  std::string doc;
  bool required = false;  ///< in each of its tables
};
/// All keys (schemas/configuration.toml). Any other key is rejected.
const std::vector<ConfigKey>& config_keys();

/// A limit that a team sets for a fact.
struct Budget {
  std::string fact;
  std::optional<double> max, min;  ///< in the fact's own unit
  std::optional<double> max_increase,
      max_decrease;  ///< relative to the baseline's value: 0.05 is 5 %
  Severity severity = Severity::error;
  std::string where;  ///< "gh-advise.toml:12", or "" for a built-in one
};

/// How `gate` compares.
struct GateSettings {
  /// Findings and budgets of this severity or above fail; warning if not set.
  std::optional<Severity> fail_on;
  double min_effect = 0.03;   ///< relative to the step: smaller differences never count as real
  double alpha = 0.05;        ///< of the rank test
  double noise_floor = 0.20;  ///< the most that counts as noise
  std::vector<Budget> budgets;
};

/// The configuration as read from a file.
class Config {
 public:
  Config();  ///< nothing set
  /// Throws Error with file:line:column.
  explicit Config(const std::filesystem::path& path);
  /// The same from a text that is, or will be, in a file.
  Config(const std::string& text, const std::filesystem::path& path);
  ~Config();
  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;

  std::vector<std::filesystem::path>
      rule_directories;  ///< relative ones start at the file's folder
  std::vector<std::string> select, ignore;
  std::optional<Severity> fail_on;
  std::vector<Suppression> suppressions;  ///< [[suppress]]: hide findings
  std::vector<Suppression> accepted;      ///< [[accept]]: exceptions of the gate alone
  GateSettings gate;

  /// Both, which is what the gate lets pass.
  std::vector<Suppression> gate_exceptions() const;

  /// Of the file, printable; "" without one.
  const std::string& path() const { return shown_path_; }
  /// Where a top-level key is set, "gh-advise.toml:3"; "" if it is not.
  std::string where(std::string_view key) const;
  /// The value of a top-level key as TOML with its keys in order; "" if it is not set.
  std::string text_of(std::string_view key) const;
  /// Settings of rules, checked against these rules. Throws Error for an unknown rule or option, or
  /// a value of the wrong type.
  std::map<std::string, RuleSettings> rule_settings(const std::vector<Rule>& rules) const;
  /// Adds the team's kernel classes, GPUs and range patterns.
  void extend(Classes& classes) const;

  /// gh-advise.toml in this folder or the nearest one above; nothing if there is none. Throws Error
  /// if users other than the current one and root can change it (config_file.hpp).
  static std::optional<std::filesystem::path> find(const std::filesystem::path& from);

 private:
  std::string shown_path_;
  std::unique_ptr<toml::table> table_;
};

/// A suppression as a [[suppress]] table, or an [[accept]] table if it is the gate's.
std::string suppression_toml(const Suppression& suppression);

/// Returns the text of a configuration with these suppressions added, or a new one. It writes
/// nothing. Throws Error if the result is not a valid configuration.
std::string with_suppressions(const std::filesystem::path& path,
                              const std::vector<Suppression>& suppressions);

}  // namespace gh
