// What a trace says against itself: kernels that start before their launch, tables of which a half
// is gone, clocks that disagree. A report that was damaged or edited does so, and nothing in it may
// be called clean. What honest profilers write does not: each check says why not.
//
// This is the door of doubts/, which has one file for each kind of check.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Rows that cannot be as they stand.
struct Doubt {
  std::int64_t count = 0, of = 0;
  double most = 0;   ///< the share of `of` above which the report is in doubt
  std::string what;  ///< for people, of `count` rows: "3 of 80 kernels start before their launch"
  /// That are not known then, since their times mean nothing. None where rows only lack: what is
  /// found in the others may still be true.
  std::vector<Source> unknown = {};
};

/// Who recorded: what is impossible for one profiler is usual with the other.
enum class Recorder : std::uint8_t { nsys, torch };

/// One Doubt for each check, also where nothing is wrong. Of a sealed trace.
std::vector<Doubt> doubts_of(const Trace& trace, Recorder recorder);

/// Says what is in doubt in Trace::doubts and Trace::problems, and makes sources unknown.
void settle(const std::vector<Doubt>& doubts, Trace& trace);

}  // namespace gh
