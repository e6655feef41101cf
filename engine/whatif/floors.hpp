// Lower bounds of a step, however well its work overlaps.
#pragma once
#include <array>
#include <vector>

#include "base/spans.hpp"
#include "whatif/changes.hpp"

namespace gh {

struct Edges;
struct ReplayGraph;

/// Lower bounds of a step, however well host and GPU work in parallel.
struct Bounds {
  Ns products_ns = 0;  ///< matrix products and fused attention
  /// All kernels, with as much overlap between streams as recorded; collectives of the busiest
  /// stream.
  Ns compute_ns = 0;
  Ns link_ns = 0;  ///< copies over a link, the busier direction
  Ns host_ns = 0;  ///< the host's own time, if the GPU took none
};

/// Computes the bounds for given edges.
class Floors {
 public:
  explicit Floors(const ReplayGraph& graph);
  Bounds of(Edges edges) const;
  /// The same without the host's bound, which takes another replay.
  Bounds of_device(const Edges& edges, Guess guess) const;
  /// Only the host's bound.
  Ns of_host(Edges edges) const;

 private:
  const ReplayGraph& graph_;
  // How long any of the operations ran, relative to the sum of their lengths.
  std::array<double, 16> link_share_{};  // by CopyKind
  std::vector<double> compute_share_;    // by device
  Ns periods_ = 0;                       // over all devices
};

}  // namespace gh
