// What the profiler added to the recorded steps, taken out again.
#pragma once
#include "whatif/changes.hpp"
#include "whatif/graph.hpp"

namespace gh {

/// The recorded edges without it. How much the host's calls cost more under a profiler is not known
/// well, so there are three guesses: Guess::least leaves the shortest step.
Edges without_overhead(const ReplayGraph& graph, Guess guess);

}  // namespace gh
