#include "whatif/graph.hpp"

#include <algorithm>
#include <utility>

#include "whatif/apply.hpp"

namespace gh {

ReplayGraph::ReplayGraph(const Analysis& of, const ReplayedSteps& replayed)
    : analysis(of),
      steps(replayed),
      crews(of.trace),
      recorded(1 + 2 * static_cast<std::size_t>(replayed.calls.count) + replayed.ops.count) {
  find_host_edges();
  find_device_edges();
  find_wait_edges();
  find_collective_edges();
  sort();
  for (const std::vector<Row>& ops : steps.device_ops)
    for (const Row op : ops) tail_ns = std::max(tail_ns, analysis.trace.ops.end[op]);
  tail_ns = steps.whole && tail_ns > 0 ? std::max<Ns>(0, steps.window.end - tail_ns) : 0;
}

// Puts every node after those that it waits for, depth first. Nodes are nearly in order of time, so
// the stack stays shallow.
void ReplayGraph::sort() {
  const Trace& t = analysis.trace;
  std::vector<std::pair<Ns, Node>> by_time;
  by_time.reserve(nodes());
  for (Row c = steps.calls.first; c < steps.calls.end(); ++c) {
    by_time.emplace_back(t.calls.start[c], begin_node(c));
    by_time.emplace_back(t.calls.end[c], end_node(c));
  }
  for (Row op = steps.ops.first; op < steps.ops.end(); ++op)
    by_time.emplace_back(t.ops.start[op], op_node(op));
  std::sort(by_time.begin(), by_time.end());

  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(nodes(), unseen);
  state[origin] = done;
  std::vector<Node> stack;
  for (const auto& [time, first] : by_time) {
    stack.push_back(first);
    while (!stack.empty()) {
      const Node n = stack.back();
      if (state[n] != unseen) {
        if (state[n] == open) {
          state[n] = done;
          order.push_back(n);
        }
        stack.pop_back();
        continue;
      }
      state[n] = open;
      for (std::size_t i = 0; i < 3; ++i) {
        const Node before = recorded.from[n][i];
        if (!recorded.has(n, i) || state[before] == done) continue;
        if (state[before] == open) {
          reason =
              "the replay cannot tell what waits for what: the clocks of host and GPU contradict "
              "each "
              "other";
          return;
        }
        stack.push_back(before);
      }
    }
  }
}

std::vector<Ns> ReplayGraph::times(const Edges& edges) const {
  std::vector<Ns> at(edges.from.size(), 0);
  for (const Node n : order) {
    const auto& from = edges.from[n];
    const auto& weight = edges.weight[n];
    at[n] = std::max({at[from[0]] + weight[0], at[from[1]] + weight[1], at[from[2]] + weight[2],
                      steps.window.start}) +
            edges.length[n];
  }
  return at;
}

Ns ReplayGraph::step_ns(const std::vector<Ns>& at) const {
  if (steps.whole) {
    Ns last = steps.window.start;
    for (const std::vector<Row>& ops : steps.device_ops)
      for (const Row op : ops) last = std::max(last, at[op_node(op)]);
    return scaled(last + tail_ns - steps.window.start, steps.scale);
  }
  Ns sum = 0;
  for (std::size_t d = 0; d < steps.device_steps.size(); ++d) {
    // Only the end of the first replayed step counts: how it began is unknown.
    Ns first = absent, last = absent;
    for (const Row op : steps.device_ops[d]) {
      const Ns end = at[op_node(op)];
      if (steps.step_of(op) == 0) first = std::max(first, end);
      last = std::max(last, end);
    }
    sum += (last - first) / steps.periods(d);
  }
  return sum / static_cast<Ns>(steps.device_steps.size());
}

}  // namespace gh
