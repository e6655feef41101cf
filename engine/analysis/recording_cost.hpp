// What a profiler usually adds to the host's time for the ranges that it records
// (schemas/overhead.toml).
#pragma once
#include <vector>

#include "trace/trace.hpp"

namespace gh {

class RecordingCost {
 public:
  explicit RecordingCost(const Trace& trace);
  /// Of a range, with what was recorded in it beside CUDA calls.
  Ns of_range(Row range) const { return by_name_[trace_.ranges.name[range]]; }
  /// Of all ranges, and of what lies outside of them, over all processes.
  Ns of_all() const;

 private:
  const Trace& trace_;
  std::vector<Ns> by_name_;
};

}  // namespace gh
