// Work that the profiler lost: calls that launched kernels or copies of which the report has no
// row, although it has those of later calls. Steps in which that happened say nothing: they look
// shorter than they were, or idle.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"

namespace gh {

struct Trace;

/// The calls whose work is missing, of all processes: ranks wait for each other, so a step in which
/// one of them lost work is whole on no device.
struct LostWork {
  std::vector<Ns> launched;  ///< when each of these calls began, in order
  std::string described;     ///< "620 of 1488 launches have no kernel"; "" if nothing was lost
  bool many = false;         ///< too many to be chance

  /// Whether one of them began in a stretch of host time.
  bool any_in(Span host) const;
  /// When the last of them before a moment began.
  std::optional<Ns> last_before(Ns at) const;
};

/// The trace must be sealed, and its availability known. Calls that failed, or were captured into a
/// CUDA graph, launch nothing and have lost nothing.
LostWork find_lost_work(const Trace& trace);

}  // namespace gh
