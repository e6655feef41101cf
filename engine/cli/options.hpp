// Options that several commands take.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/steps.hpp"
#include "cli/parser.hpp"

namespace gh {

/// Which rules there are, and which of them are asked.
struct RuleOptions {
  std::vector<std::string> directories, select, ignore;
  std::string config;  ///< a path, "none", or "" for the nearest

  void add_sources(Parser& command);  ///< --rules, --config
  void add_choice(Parser& command);   ///< --select, --ignore
};

/// --timeout
void add_timeout(Parser& command, std::int64_t& seconds);

/// What of a report is analysed, with what beside it, and how.
struct ReportOptions {
  std::string steps, nsys = "nsys", dcgm;
  std::optional<std::string> range;
  std::optional<int> device, rank;
  unsigned threads = 0;
  std::int64_t timeout = 0;  ///< 0: by the report's size
  bool profile = false;

  void add(Parser& command);
  /// All files that are read, beside `reports` the one of --dcgm.
  std::vector<std::string> inputs(std::vector<std::string> reports) const;
  /// Throws Error where --steps or --range make no sense.
  Selection selection() const;
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
