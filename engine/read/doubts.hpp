// Signs that a trace contradicts itself: kernels that start before their launch, tables with half
// their rows missing, clocks that disagree. Such a report was damaged or edited, and nothing in it
// may be called clean. Reports that profilers really write pass; each check says why. Work that the
// profiler lost concerns only the steps in which that happened: see trace/lost_work.hpp.
//
// This is the main header of doubts/, which has one file for each kind of check.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Rows that cannot be right.
struct Doubt {
  std::int64_t count = 0, of = 0;
  double most = 0;   ///< the share of `of` above which the report is doubted
  std::string what;  ///< printed after the counts: "3 of 80 kernels start before their launch"
  /// Sources that become unknown, because their times mean nothing. None if rows are only missing:
  /// findings in the other rows may still be true.
  std::vector<Source> unknown = {};
};

/// Who recorded: what is impossible with one profiler is normal with the other.
enum class Recorder : std::uint8_t { nsys, torch };

/// One Doubt for each check, even if nothing is wrong. The trace must be sealed.
std::vector<Doubt> doubts_of(const Trace& trace, Recorder recorder);

/// Writes what is doubted to Trace::doubts and Trace::problems, and marks sources as unknown.
void settle(const std::vector<Doubt>& doubts, Trace& trace);

}  // namespace gh
