// Reports read and judged for comparison.
#pragma once
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "cli/settings.hpp"

namespace gh {

/// Reads captures for `baseline`, `gate` and `diff`; a baseline stands for the captures that it was
/// made of.
class CaptureReader {
 public:
  /// `paths`: all that will be read.
  CaptureReader(const Settings& settings, const std::vector<Rule>& rules,
                const ReportOptions& options, const std::vector<std::string>& paths);

  enum class Wanted { reports, baselines_too };
  /// In the order given, baselines first. Throws Error where a path or a recording is there twice,
  /// cannot be read, or is a baseline where a report is wanted.
  std::vector<Capture> read(const std::vector<std::string>& paths, Wanted wanted);

 private:
  Request request_;
  SettingsInEffect settings_;
  std::string selected_;  // what of each report, as options
  MeasuredSteps measured_;
  Progress progress_;
  std::size_t done_ = 0;  // reports
};

}  // namespace gh
