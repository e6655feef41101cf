// How much of the steps each cause of the account took: text, page, JSON and Markdown show the
// same.
#pragma once
#include <string>
#include <vector>

#include "analysis/step_time.hpp"

namespace gh {

/// A cause of an account, and its time over all steps.
struct CauseTime {
  std::string cause;
  double ns = 0;       ///< without what the profiler adds
  Ns recorded_ns = 0;  ///< as recorded
};
using CauseTimes = std::vector<CauseTime>;

/// Every cause, in order of precedence: of one device, or of all together.
CauseTimes cause_times(const Analysis& analysis, const StepTime& step, const DeviceAccount& device);
CauseTimes cause_times(const Analysis& analysis, const StepTime& step);

double sum_of(const CauseTimes& causes);
/// 0 for a cause that is not among them.
double time_of(const CauseTimes& causes, const std::string& cause);

/// "Where a step goes"; "Where the time goes" of a window.
std::string account_title(const UnitWords& unit);

/// Of the step: a cause that takes less has no line of its own.
inline constexpr double least_account_share = 0.005;

/// A line of the account: "idle: input   118.0 ms   71 %".
struct AccountLine {
  std::string cause;  ///< "" of the line that sums up those that take less
  std::string label;
  double ns = 0;        ///< of a step
  double fraction = 0;  ///< of the step
};
/// The causes, the one that takes most first; small ones are one line at the end.
std::vector<AccountLine> account_lines(const Analysis& analysis, const StepTime& step);

}  // namespace gh
