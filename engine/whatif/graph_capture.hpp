// Which parts of a recording a CUDA graph could contain. A graph is launched by the thread that
// launched its first operation, after what that thread did before. It ends where the thread
// launches something that is in no graph, where it waits for the GPU, since what follows may depend
// on results that it read back, and where it makes a call that refuses to be captured. Whether
// other work of the host can move out of the way is not known: as a rule it goes on beside the GPU,
// and where a fix is to do least (Guess::most) it ends the graph. Graphs end with the step, too,
// unless all that they may save counts (Guess::least).
#pragma once
#include <cstdint>
#include <vector>

#include "whatif/changes.hpp"
#include "whatif/graph.hpp"

namespace gh {

/// A pause of the host longer than this is more than preparing a launch: an eager framework takes 5
/// to 50 us from one launch to the next.
inline constexpr Ns longest_preparation_ns = 200'000;

class GraphCapture {
 public:
  /// `ops`: the operations to be put into graphs, including those outside of the block.
  GraphCapture(const ReplayGraph& graph, const std::vector<Row>& ops, Guess guess);

  /// Calls that become unnecessary: all launches except the first of each graph, and the calls
  /// between them.
  const std::vector<Row>& needless_calls() const { return needless_; }
  /// Whether the launch of an operation is also that of its graph.
  bool begins_graph(Row op) const;

 private:
  enum class Launches : std::uint8_t { nothing, captured, others };
  void capture(const std::vector<Row>& calls);
  bool works_before(Row call) const;

  const ReplayGraph& graph_;
  const Guess guess_;
  std::vector<Launches> launches_;    // by call of the block
  std::vector<std::int16_t> step_;    // the step of what the call launched
  std::vector<std::uint8_t> begins_;  // by call of the block
  std::vector<Row> needless_;
};

}  // namespace gh
