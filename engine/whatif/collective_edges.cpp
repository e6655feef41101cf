// Collectives: each member waits until the last has arrived, and then takes as long as it did after
// that moment in the recording. The time that it waited for others is thus not part of its length.
#include <algorithm>

#include "analysis/meetings.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

// Moves an operation's start, and what that waits for, to a separate node.
Node split(Edges& edges, Node op) {
  const Node start = edges.add();
  std::swap(edges.from[start], edges.from[op]);
  std::swap(edges.weight[start], edges.weight[op]);
  return start;
}

// The time at which the last of `nodes` has arrived.
Node last_of(const std::vector<Node>& nodes, Edges& edges) {
  Node all = nodes.front();
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Node both = edges.add();
    edges.set(both, edge::first, all, 0);
    edges.set(both, edge::second, nodes[i], 0);
    all = both;
  }
  return all;
}

}  // namespace

void ReplayGraph::find_collective_edges() {
  const Trace& t = analysis.trace;
  arrival.assign(steps.ops.count, origin);
  for (const Meeting& members : meetings(analysis, steps.ops.first, steps.ops.end())) {
    Ns last = 0;
    std::vector<Node> arrived;
    for (const Row op : members) {
      last = std::max(last, t.ops.start[op]);
      arrived.push_back(arrival[op - steps.ops.first] = split(recorded, op_node(op)));
    }
    const Node met = last_of(arrived, recorded);
    for (const Row op : members) {
      recorded.set(op_node(op), edge::met, met, 0);
      recorded.length[op_node(op)] = t.ops.end[op] - last;
    }
  }

  Ns unmet_ns = 0;
  for (Row op = steps.ops.first; op < steps.ops.end(); ++op)
    if (steps.counts(op) && arrival[op - steps.ops.first] == origin && analysis.is_collective(op))
      unmet_ns += t.span_of(op).length();
  unmet = static_cast<double>(unmet_ns) / static_cast<double>(steps.window.length()) /
          static_cast<double>(steps.device_steps.size());
}

void ReplayGraph::leave_meeting(Row op, Edges& edges) const {
  const Node n = op_node(op), arrived = start_node(op);
  if (arrived == n) return;
  // A meeting's nodes come after the arrivals of its members, up to the one at which they met.
  for (Node meeting = arrived + 1; meeting <= recorded.from[n][edge::met]; ++meeting)
    for (const std::size_t place : {edge::first, edge::second})
      if (recorded.from[meeting][place] == arrived) edges.weight[meeting][place] = absent;
  edges.set(n, edge::met, arrived, 0);
}

}  // namespace gh
