#include "whatif/graph.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "whatif/apply.hpp"

namespace gh {

ReplayGraph::ReplayGraph(const Analysis& of, const ReplayedSteps& replayed)
    : analysis(of),
      steps(replayed),
      crews(of.trace),
      recorded(1 + 2 * static_cast<std::size_t>(replayed.calls.count) + replayed.ops.count) {
  for (const Device& device : of.trace.devices) {
    attained_.emplace_back(of.classes.peaks(device), of.classes.attainable());
    peak_.emplace_back(of.classes.peaks(device), Attainable{});
  }
  find_host_edges();
  find_device_edges();
  find_wait_edges();
  find_silence_edges();
  find_collective_edges();
  sort();
  beside_.resize(steps.measured.size());
  const std::vector<Span> ends = ends_of([&](Row op) { return analysis.trace.ops.end[op]; });
  for (std::size_t d = 0; d < ends.size(); ++d)
    beside_[d] = {steps.measured[d].start - ends[d].start, steps.measured[d].end - ends[d].end};
}

Ns ReplayGraph::link_ns(Row op) const {
  const double rate = rates(op, Guess::best).host_link_bytes_per_s();
  return rate > 0 ? std::llround(1e9 * static_cast<double>(analysis.trace.ops.bytes[op]) / rate)
                  : 0;
}

Ns ReplayGraph::needed_ns(Row op, const change::Scale& scale, Guess guess) const {
  if (!scale.precision || !analysis.classes.is_product(analysis.class_of(op))) return 0;
  const std::vector<KnownWork>& known = analysis.known_work();
  const auto work = std::lower_bound(known.begin(), known.end(), op,
                                     [](const KnownWork& w, Row row) { return w.op < row; });
  if (work == known.end() || work->op != op || work->ns <= 0) return 0;
  const Precision precision =
      *scale.precision == Precision::none ? work->precision : *scale.precision;
  const Rates& of = rates(op, guess);
  const double compute_ns = of.compute_ns(*work, precision),
               least_ns = scale.fused ? least_of_masked * compute_ns
                                      : std::max(compute_ns, of.memory_ns(*work, precision));
  // The rest of the product is in other kernels.
  return std::llround(least_ns * static_cast<double>(recorded.length[op_node(op)]) / work->ns);
}

template <class EndOf>
std::vector<Span> ReplayGraph::ends_of(EndOf end_of) const {
  std::vector<Span> ends;
  for (std::size_t d = 0; d < steps.device_ops.size(); ++d) {
    Span last{absent, absent};
    for (const Row op : steps.device_ops[d]) {
      const Ns end = end_of(op);
      if (!steps.counts(op)) last.start = std::max(last.start, end);
      last.end = std::max(last.end, end);
    }
    // Where nothing is replayed, nothing moves.
    if (last.start == absent) last.start = steps.measured[d].start;
    if (last.end == absent) last.end = steps.measured[d].end;
    ends.push_back(last);
  }
  return ends;
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

  std::unordered_map<Node, Node> may;  // what a node may wait for, too
  for (const MayWait& m : may_wait) may[m.node] = m.cause;

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
      for (std::size_t i = 0; i <= 3; ++i) {
        if (i < 3 ? !recorded.has(n, i) : !may.contains(n)) continue;
        const Node before = i < 3 ? recorded.from[n][i] : may.at(n);
        if (state[before] == done) continue;
        if (state[before] == open && i == 3) {  // whoever may wait need not
          may.erase(n);
          continue;
        }
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
  std::erase_if(may_wait, [&](const MayWait& m) { return !may.contains(m.node); });
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

std::vector<Span> ReplayGraph::measured(const std::vector<Ns>& at) const {
  std::vector<Span> measured = ends_of([&](Row op) { return at[op_node(op)]; });
  for (std::size_t d = 0; d < measured.size(); ++d) {
    measured[d].start += beside_[d].start;
    measured[d].end = std::max(measured[d].start, measured[d].end + beside_[d].end);
  }
  return measured;
}

}  // namespace gh
