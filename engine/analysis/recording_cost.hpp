// What a profiler usually adds to the host's time for the ranges that it records
// (schemas/overhead.toml).
#pragma once
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

/// What recording adds to a launch, in recorded launch calls.
struct LaunchWorth {
  double least = 0, usual = 0, most = 0;
};
const LaunchWorth& launch_worth();

/// What recording usually adds to a CUDA call that launches nothing. What it adds to a launch goes
/// by the launch's length.
Ns call_cost_ns(CallClass kind);

/// How long a copy down into pageable memory takes at least when nothing is recorded, relative to
/// its recorded time.
double least_of_copy_down();

/// How long a recorded launch usually takes, by those of operations from `first` to before `end`
/// whose kernel ran before in the trace: the first may load code. What schemas/overhead.toml says
/// where fewer than sixteen tell.
Ns usual_launch_ns(const Trace& trace, const NameClasses& names, Row first, Row end);

class RecordingCost {
 public:
  explicit RecordingCost(const Trace& trace);
  /// Of a range, with what was recorded in it beside CUDA calls.
  Ns of_range(Row range) const { return by_name_[trace_.ranges.name[range]]; }
  /// Of all ranges, of what lies outside of them, and of calls that launch nothing, over all
  /// processes.
  Ns of_all(const NameClasses& names) const;

 private:
  const Trace& trace_;
  std::vector<Ns> by_name_;
};

}  // namespace gh
