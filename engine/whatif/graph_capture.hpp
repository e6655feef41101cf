// What of a recording a CUDA graph could hold. A graph is launched by the thread that launched its
// first operation, after what that thread did before. It ends with the step, where the thread
// launches what is in no graph, and where it waits for the GPU or works on something else than
// launching, since what comes then may hang on what was read back.
#pragma once
#include <cstdint>
#include <vector>

#include "whatif/graph.hpp"

namespace gh {

/// A pause of the host that is longer than this is no preparation of a launch: an eager framework
/// takes 5 to 50 us from one launch to the next.
inline constexpr Ns host_work_ns = 200'000;

class GraphCapture {
 public:
  /// `ops`: the operations that are to be put into graphs, those outside of the block included.
  GraphCapture(const ReplayGraph& graph, const std::vector<Row>& ops);

  /// Calls that a graph makes needless: launches but the first of each graph, and what the thread
  /// called between them.
  const std::vector<Row>& needless_calls() const { return needless_; }
  /// Whether the launch of an operation is also that of its graph.
  bool begins_graph(Row op) const;

 private:
  enum class Launches : std::uint8_t { nothing, captured, others };
  void capture(const std::vector<Row>& calls);
  bool works_before(Row call) const;

  const ReplayGraph& graph_;
  std::vector<Launches> launches_;    // by call of the block
  std::vector<std::int16_t> step_;    // likewise, of what was launched
  std::vector<std::uint8_t> begins_;  // likewise
  std::vector<Row> needless_;
};

}  // namespace gh
