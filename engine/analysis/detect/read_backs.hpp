// What the host read back and waited for before it launched more GPU work, and whether that decided
// what it launched.
#pragma once
#include "analysis/analysis.hpp"
#include "trace/row_set.hpp"

namespace gh {

/// Copies to the host that it waited for before it launched more GPU work in the step.
struct ReadBacks {
  RowSet copies;
  RowSet waits;     ///< the calls that waited: the copy's own, or a synchronization after it
  RowSet sized;     ///< copies that tell how much was selected: beside kernels that select, or of
                    ///< operators that do
  RowSet deciding;  ///< copies after which the GPU gets different work than in other steps
  /// All operations whose name, grid or size does not occur equally often in every step; empty if
  /// fewer than three steps can be compared, or with fewer than two copies a step.
  RowSet changing;
};

/// `ops`: the operations within the steps.
ReadBacks find_read_backs(const Analysis& analysis, const RowSet& ops);

}  // namespace gh
