// The replayed steps as a graph of points in time: begin and end of every CUDA call of the host,
// and end of every operation. A point comes at the latest of the times that its edges give.
//
// Files find the edges, one for each kind of point: host_edges.cpp (a call after the thread's
// previous call, or after a thread that hands over), device_edges.cpp (an operation after its
// launch, after the one before it on its stream, after one on another stream), wait_edges.cpp (the
// end of a blocking call after the operation that it waits for) and silence_edges.cpp (the end of a
// silence after what it turns out to wait for). Each edge weighs what the trace shows on top of its
// own share, so that without changes the replay equals the trace.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/crews.hpp"
#include "analysis/detect/waits.hpp"
#include "analysis/structure/roofline.hpp"
#include "whatif/changes.hpp"
#include "whatif/replayed_steps.hpp"
#include "whatif/silences.hpp"

namespace gh {

using Node = std::uint32_t;
/// The origin of time: it is at 0 and no change moves it.
inline constexpr Node origin = 0;
/// The weight of an absent edge: so small that it is never the latest.
inline constexpr Ns absent = std::numeric_limits<Ns>::min() / 4;

/// Indices of a node's edges, by kind of node.
namespace edge {
enum OfOperation : std::size_t { launch = 0, stream = 1, other_stream = 2 };
/// Of a call. `handover`: the end of a call or operation that its thread waited for.
enum OfBegin : std::size_t { previous = 0, handover = 1 };
/// Of a call. `wait_beside`: for another stream, once a change has moved work there.
enum OfEnd : std::size_t { begin = 0, wait = 1, wait_beside = 2 };
/// For a meeting: the two nodes that it joins, each an arrival or an earlier meeting. For an
/// operation that waits for others to arrive: where it met them.
enum OfMeeting : std::size_t { first = 0, second = 1, met = 2 };
}  // namespace edge

/// What each node waits for. Changes are made to a copy of the recorded edges; nodes and their
/// order stay the same.
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

/// An edge that may be one: a thread may have waited there, or have worked.
struct MayWait {
  Node node = origin;
  std::size_t place = 0;
  Node cause = origin;
  Ns after_ns = 0;  ///< the node comes this long after its cause
};

struct ReplayGraph {
  const Analysis& analysis;
  const ReplayedSteps& steps;
  const Crews crews;
  Edges recorded;
  /// By operation of the block: the one before it on its stream, or no_row.
  std::vector<Row> stream_before;
  /// By operation of the block: its arrival at its meeting, if all members are in the report;
  /// otherwise origin.
  std::vector<Node> arrival;
  /// By thread: calls of the block that are not nested in another.
  std::vector<std::vector<Row>> thread_calls;
  /// By call of the block: what it usually costs to record the ranges that its thread began since
  /// its previous call. Empty if there are none.
  std::vector<Ns> recording_before;
  /// Calls before which the thread waited in the system, as was recorded; in order.
  std::vector<Row> recorded_waits;
  /// By thread: when a device was idle and then resumed with work that the thread launched.
  std::vector<Spans> thread_idle;
  std::vector<Silence> silences;  ///< all that were judged
  std::vector<MayWait> may_wait;
  std::vector<Node> order;  ///< each node after those that it waits for
  std::string reason;       ///< why there is no such order; "" if there is one
  Ns launch_ns = 0;         ///< the usual weights: from launch to start if the stream is idle,
  Ns launch_call_ns = 0;    ///< a launch itself,
  Ns gap_ns = 0;            ///< between operations of a stream that was fed in time,
  Ns wake_ns = 0;           ///< from the end of what a call waits for to the end of the call
  double unresolved = 0;    ///< share of the window in waiting calls whose operation is unknown
  double unmet = 0;         ///< share of the steps in collectives whose other members are unknown

  ReplayGraph(const Analysis& of, const ReplayedSteps& replayed);

  std::size_t nodes() const { return recorded.from.size(); }
  Node begin_node(Row call) const { return 1 + 2 * (call - steps.calls.first); }
  Node end_node(Row call) const { return begin_node(call) + 1; }
  Node first_op_node() const { return 1 + 2 * static_cast<Node>(steps.calls.count); }
  Node op_node(Row op) const { return first_op_node() + (op - steps.ops.first); }
  /// The node that waits for an operation's launch and for earlier operations: a separate node if
  /// the operation then waits for other devices, otherwise the operation's.
  Node start_node(Row op) const {
    const Node arrived = arrival[op - steps.ops.first];
    return arrived == origin ? op_node(op) : arrived;
  }
  /// The call that launched an operation, if it is part of the block; otherwise no_row.
  Row launch_of(Row op) const {
    const Row call = analysis.trace.ops.call[op];
    return call != no_row && steps.calls.holds(call) ? call : no_row;
  }
  CallClass call_class(Row call) const {
    return analysis.names.call[analysis.trace.calls.name[call]];
  }

  /// Those of the operation's device: attainable ones, or its peaks for Guess::least.
  const Rates& rates(Row op, Guess guess) const {
    return (guess == Guess::least ? peak_ : attained_)[analysis.trace.device_of(op)];
  }
  /// What a copy between host and device takes at the rate that its link attains; 0 if unknown.
  Ns link_ns(Row op) const;
  /// What an operation needs at least if it is scaled in this way: a product for its floating-point
  /// operations and bytes. 0 where that is unknown.
  Ns needed_ns(Row op, const change::Scale& scale, Guess guess) const;

  /// Removes an operation from its collective: it and the other members no longer wait for each
  /// other.
  void leave_meeting(Row op, Edges& edges) const;

  /// Those of `may_wait` that fit these times of the nodes, and with which they stay the same.
  std::vector<MayWait> waits_at(const std::vector<Ns>& times) const;
  /// Makes threads wait there and not work.
  void wait(const std::vector<MayWait>& waits, Edges& edges) const;

  /// When each node comes, given these edges.
  std::vector<Ns> times(const Edges& edges) const;
  /// When an operation starts: one of a meeting when it arrives there, the others as long before
  /// their end as they take.
  Ns start_of(Row op, const Edges& edges, const std::vector<Ns>& times) const {
    const Node n = op_node(op), start = start_node(op);
    return start == n ? times[n] - edges.length[n] : times[start];
  }
  /// By analyzed device: the time that is measured on it if nodes come at these times.
  std::vector<Span> measured(const std::vector<Ns>& times) const;
  /// The mean step over all devices if nodes come at these times.
  Ns step_ns(const std::vector<Ns>& times) const { return steps.mean_ns(measured(times)); }

 private:
  /// By device of the trace.
  std::vector<Rates> attained_, peak_;
  /// By analyzed device: how long after the end of the replayed operations of the first step, and
  /// of all steps, the measured time begins and ends. Work that is not replayed may end later; of a
  /// part of a window the last operation may end after the part.
  std::vector<Span> beside_;
  /// By analyzed device: when the replayed operations of the first step end (only the end of that
  /// step counts; of a window its begin, which is fixed), and those of all steps.
  template <class EndOf>
  std::vector<Span> ends_of(EndOf end_of) const;
  void find_host_edges();
  void find_device_edges();
  void find_wait_edges();
  void end_spin(const std::vector<Row>& calls, std::size_t last, Ns since, Row op);
  void find_silence_edges();
  void find_collective_edges();
  void sort();
};

}  // namespace gh
