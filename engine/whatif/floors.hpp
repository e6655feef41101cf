// What a step cannot fall below, whatever else is overlapped with what.
#pragma once
#include <array>
#include <vector>

#include "base/spans.hpp"
#include "whatif/changes.hpp"

namespace gh {

struct Edges;
struct ReplayGraph;

/// What a step cannot fall below, however well the host and the GPU work side by side.
struct Bounds {
  Ns products_ns = 0;  ///< matrix products and fused attention
  /// All kernels, of which as much runs side by side as did; of collectives, the busiest stream's.
  Ns compute_ns = 0;
  Ns link_ns = 0;  ///< copies over a link, the busier direction
  Ns host_ns = 0;  ///< the host's own time, if the GPU took none
};

/// Finds them, with what operations and the host take in some edges.
class Floors {
 public:
  explicit Floors(const ReplayGraph& graph);
  Bounds of(Edges edges) const;
  /// The same without the host's, which takes another replay.
  Bounds of_device(const Edges& edges, Guess guess) const;
  /// The host's alone.
  Ns of_host(Edges edges) const;

 private:
  const ReplayGraph& graph_;
  // Of what operations take one by one, how long any of them ran.
  std::array<double, 16> link_share_{};  // by CopyKind
  std::vector<double> compute_share_;    // by device
  Ns periods_ = 0;                       // over all devices
};

}  // namespace gh
