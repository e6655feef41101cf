// Applies a change to the graph: which edges are removed, and which weigh less.
#pragma once
#include "whatif/changes.hpp"
#include "whatif/graph.hpp"

namespace gh {

/// A length times a factor, rounded.
Ns scaled(Ns ns, double by);

/// Makes a change in `edges`. Ignores rows outside of the replayed steps.
void apply(const ReplayGraph& graph, const Change& change, Guess guess, Edges& edges);

}  // namespace gh
