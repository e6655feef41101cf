// Lower bounds of a step, however well its work overlaps.
#pragma once
#include <algorithm>
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
  /// All kernels and copies within the device, with as much overlap between streams as recorded;
  /// collectives of the busiest stream.
  Ns compute_ns = 0;
  Ns link_ns = 0;  ///< copies over a link, the busier direction
  Ns host_ns = 0;  ///< the host's own time, if the GPU took none
  Ns least_ns() const { return std::max({compute_ns, link_ns, host_ns}); }
};

/// Computes the bounds for given edges.
class Floors {
 public:
  explicit Floors(const ReplayGraph& graph);
  /// All but the host's bound, which takes another replay.
  Bounds of_device(const Edges& edges, Guess guess) const;
  Ns of_host(Edges edges) const;

 private:
  const ReplayGraph& graph_;
  // How long any of the operations ran, relative to the sum of their lengths.
  std::array<double, 16> link_share_{};  // by CopyKind
  std::vector<double> compute_share_;    // by device
  Ns periods_ = 0;                       // over all devices
};

}  // namespace gh
