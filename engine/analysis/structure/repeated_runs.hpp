// Finds units of launches that follow each other, and where each begins.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/launch_sequence.hpp"

namespace gh {

/// Units that follow each other in a launch sequence: the n-th lies between the n-th cut and the
/// next.
struct RepeatedRun {
  std::vector<std::size_t> cuts;
  std::size_t count() const { return cuts.size() - 1; }
};

/// All runs of three units or more between two places, in order. Units need not be equal, if each
/// has the launch that comes once in most of them: an odd layer is one of its run. Of runs in runs,
/// such as layers in micro-batches, the inner ones.
std::vector<RepeatedRun> repeated_runs(const LaunchSequence& sequence, std::size_t from,
                                       std::size_t to);

}  // namespace gh
