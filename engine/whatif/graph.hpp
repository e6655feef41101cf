// The replayed steps as a graph of points in time: begin and end of every CUDA call of the host,
// end of every operation. A point comes as late as the latest of what it waits for.
//
// What waits for what is found by three files, one kind of point each: host_edges.cpp (a call after
// the thread's call before it, or after a thread that hands over), device_edges.cpp (an operation
// after its launch, after the one before it on its stream, after one on another stream) and
// wait_edges.cpp (the end of a blocking call after the operation that it waits for). Each edge
// weighs what the trace shows beyond its own share, so that with no change the replay is the trace.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/crews.hpp"
#include "whatif/replayed_steps.hpp"

namespace gh {

using Node = std::uint32_t;
/// The node that is the origin of time: at 0, which no change moves.
inline constexpr Node origin = 0;
/// The weight of an edge that is absent: so little that it never is the latest.
inline constexpr Ns absent = std::numeric_limits<Ns>::min() / 4;

/// Places of a node's edges, by what the node is.
namespace edge {
enum OfOperation : std::size_t { launch = 0, stream = 1, other_stream = 2 };
enum OfBegin : std::size_t { previous = 0, handover = 1 };  // of a call
enum OfEnd : std::size_t { begin = 0, wait = 1 };           // of a call
/// Of a meeting: one or two that arrive, or a meeting of those before; of an operation that waits
/// for others to arrive: where it met them.
enum OfMeeting : std::size_t { first = 0, second = 1, met = 2 };
}  // namespace edge

/// What each node waits for. A change is made to a copy of the recorded ones; nodes and their order
/// stay.
struct Edges {
  std::vector<std::array<Node, 3>> from;
  std::vector<std::array<Ns, 3>> weight;
  std::vector<Ns> length;  ///< of operations: added after the latest edge

  explicit Edges(std::size_t nodes = 0)
      : from(nodes, {origin, origin, origin}),
        weight(nodes, {absent, absent, absent}),
        length(nodes, 0) {}
  Node add() {
    from.push_back({origin, origin, origin});
    weight.push_back({absent, absent, absent});
    length.push_back(0);
    return static_cast<Node>(from.size() - 1);
  }
  bool has(Node n, std::size_t place) const { return weight[n][place] != absent; }
  void set(Node n, std::size_t place, Node to, Ns ns) {
    from[n][place] = to;
    weight[n][place] = ns;
  }
};

struct ReplayGraph {
  const Analysis& analysis;
  const ReplayedSteps& steps;
  const Crews crews;
  Edges recorded;
  /// By operation of the block: the one before it on its stream, or no_row.
  std::vector<Row> stream_before;
  /// By operation of the block: where it arrived at the others that take part in it, if all of them
  /// are in the report; otherwise origin.
  std::vector<Node> arrival;
  /// By thread: calls of the block that are not nested in another.
  std::vector<std::vector<Row>> thread_calls;
  /// By call of the block: how many ranges its thread began since its call before. Empty where
  /// ranges cost nothing to speak of (Trace::recording_ns).
  std::vector<std::uint32_t> ranges_before;
  /// By thread: when a device idled, and then went on with what the thread launched.
  std::vector<Spans> thread_idle;
  std::vector<Node> order;  ///< each node after what it waits for
  std::string reason;       ///< why there is no such order; "" where there is
  Ns launch_ns = 0;         ///< the usual weights: from launch to start where the stream is idle,
  Ns gap_ns = 0;            ///< between operations of a stream that was fed in time,
  Ns wake_ns = 0;           ///< from the end of what a call waits for to the call's
  Ns tail_ns = 0;           ///< of a whole window: what comes after its last operation
  double unresolved = 0;    ///< time of waiting calls of which nobody knows what for, of the window
  double unmet = 0;         ///< time of collectives whose other members are not known, of the steps

  ReplayGraph(const Analysis& of, const ReplayedSteps& replayed);

  std::size_t nodes() const { return recorded.from.size(); }
  Node begin_node(Row call) const { return 1 + 2 * (call - steps.calls.first); }
  Node end_node(Row call) const { return begin_node(call) + 1; }
  Node first_op_node() const { return 1 + 2 * static_cast<Node>(steps.calls.count); }
  Node op_node(Row op) const { return first_op_node() + (op - steps.ops.first); }
  /// What waits for an operation's launch and for those before it: a node of its own where the
  /// operation then waits for other devices, otherwise the operation's.
  Node start_node(Row op) const {
    const Node arrived = arrival[op - steps.ops.first];
    return arrived == origin ? op_node(op) : arrived;
  }
  /// The call that launched an operation, if it is one of the block; otherwise no_row.
  Row launch_of(Row op) const {
    const Row call = analysis.trace.ops.call[op];
    return call != no_row && steps.calls.holds(call) ? call : no_row;
  }
  CallClass call_class(Row call) const {
    return analysis.names.call[analysis.trace.calls.name[call]];
  }

  /// Takes an operation out of its collective: nobody waits for its arrival, and it for nobody's.
  void leave_meeting(Row op, Edges& edges) const;

  /// When each node comes, with these edges.
  std::vector<Ns> times(const Edges& edges) const;
  /// The mean step, over all devices, if nodes come at these times.
  Ns step_ns(const std::vector<Ns>& times) const;

 private:
  void find_host_edges();
  void find_device_edges();
  void find_wait_edges();
  void find_collective_edges();
  void sort();
};

}  // namespace gh
