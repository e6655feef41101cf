// What a trace says against itself: kernels that start before their launch, tables of which a half
// is gone, clocks that disagree. Nothing recorded does so; a damaged or edited report does, and no
// rule may call it clean.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Rows that cannot be as they stand.
struct Doubt {
  std::vector<Source> sources;  ///< that are in doubt for it
  std::int64_t count = 0, of = 0;
  double most = 0;   ///< the share of `of` above which the sources are not known
  std::string what;  ///< for people, of `count` rows: "3 of 80 kernels start before their launch"
};

/// Who recorded: what is impossible for one profiler is usual with the other.
enum class Recorder : std::uint8_t { nsys, torch };

/// All that a sealed trace holds, each kind of contradiction once; those without rows too.
std::vector<Doubt> doubts_of(const Trace& trace, Recorder recorder);

/// Says what is in doubt in Trace::problems, and where it is too much makes the sources unknown.
void settle(const std::vector<Doubt>& doubts, Trace& trace);

}  // namespace gh
