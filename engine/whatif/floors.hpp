// What a step cannot fall below, whatever else is overlapped with what.
#pragma once
#include "base/spans.hpp"

namespace gh {

struct Edges;
struct ReplayGraph;

/// What a step cannot fall below, however well the host and the GPU work side by side.
struct Bounds {
  Ns products_ns = 0;  ///< matrix products and fused attention
  Ns compute_ns = 0;   ///< all of the busiest stream's kernels
  Ns link_ns = 0;      ///< copies over a link, the busier direction
  Ns host_ns = 0;      ///< the host's own time, if the GPU took none
};

/// With what operations and host take in `edges`.
Bounds bounds_of(const ReplayGraph& graph, Edges edges);

}  // namespace gh
