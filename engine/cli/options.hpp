// Options that several commands take.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps.hpp"
#include "cli/parser.hpp"

namespace gh {

/// Which rules exist, and which of them run.
struct RuleOptions {
  std::vector<std::string> directories, select, ignore;
  std::string config;  ///< a path, "none", or "" for the nearest

  void add(Parser& command);          ///< all
  void add_sources(Parser& command);  ///< --rules, --config
};

/// --timeout
void add_timeout(Parser& command, std::int64_t& seconds);

/// What part of a report to analyse, with which other measurements, and how.
struct ReportOptions {
  std::string steps, nsys = "nsys", dcgm;
  std::vector<std::string> measured_step;  ///< "16.5ms", or "run.sqlite=16.5ms"
  std::optional<std::string> range, unit;
  std::optional<int> device, rank;
  unsigned threads = 0;
  std::int64_t timeout = 0;  ///< 0: by the report's size
  bool profile = false;

  void add(Parser& command);
  /// All files that are read: `reports` and the file of --dcgm.
  std::vector<std::string> inputs(std::vector<std::string> reports) const;
  /// Throws Error where --steps or --range make no sense.
  Selection selection() const;
};

/// The value of --measured-step for each report.
class MeasuredSteps {
 public:
  /// Throws Error if a value is no duration, belongs to none of `reports`, or could belong to
  /// several of their jobs. `reports` has no baselines.
  MeasuredSteps(const ReportOptions& options, const std::vector<std::string>& reports);
  /// Of the report that these files make, if it was given.
  std::optional<Ns> of(const std::vector<std::string>& job) const;

 private:
  std::optional<Ns> any_;            // of the only report
  std::map<std::string, Ns> named_;  // by path
};

/// Applies --threads and --timeout, and prints --profile's table when the command is done.
class Working {
 public:
  explicit Working(const ReportOptions& options);
  ~Working();
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  bool profile_;
};

}  // namespace gh
