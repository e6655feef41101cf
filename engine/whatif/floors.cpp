#include "whatif/floors.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "whatif/apply.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

// Directions in which copies take turns: each has an engine of its own.
bool takes_turns(CopyKind k) {
  return k == CopyKind::h2d || k == CopyKind::d2h || k == CopyKind::p2p;
}

// Copies within a device take its memory's time, as kernels do.
bool computes(const ReplayGraph& g, Row op) {
  const Ops& ops = g.analysis.trace.ops;
  return (ops.kind[op] == OpKind::kernel && !g.analysis.is_collective(op)) ||
         ops.kind[op] == OpKind::graph || ops.copy[op] == CopyKind::d2d;
}

// How long the operations that count take, summed over all steps and devices.
struct DeviceTimes {
  std::vector<Ns> by_stream;     // kernels and collectives
  std::vector<Ns> by_device;     // kernels
  std::array<Ns, 16> by_copy{};  // copies over a link, by direction
  Ns products = 0;
};

DeviceTimes times_of(const ReplayGraph& g, const Edges& edges) {
  const Trace& t = g.analysis.trace;
  DeviceTimes times;
  times.by_stream.resize(t.streams.size());
  times.by_device.resize(t.devices.size());
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    if (!g.steps.counts(op)) continue;
    const Ns ns = edges.length[g.op_node(op)];
    if (t.ops.kind[op] == OpKind::kernel || t.ops.kind[op] == OpKind::graph)
      times.by_stream[t.ops.stream[op]] += ns;
    if (computes(g, op)) times.by_device[t.device_of(op)] += ns;
    if (takes_turns(t.ops.copy[op])) times.by_copy[static_cast<std::size_t>(t.ops.copy[op])] += ns;
    if (g.analysis.classes.is_product(g.analysis.class_of(op))) times.products += ns;
  }
  return times;
}

double share_of(Ns part, Ns all) {
  return all > 0 ? std::min(1.0, static_cast<double>(part) / static_cast<double>(all)) : 1;
}

// Operations of several streams share the hardware and then take longer each. By device: for how
// much of the measured time any of the operations that `which` selects was running, as recorded.
template <class Which>
std::vector<Ns> busy_by_device(const ReplayGraph& g, Which which) {
  const Trace& t = g.analysis.trace;
  std::vector<Ns> busy(t.devices.size());
  for (std::size_t d = 0; d < g.steps.device_ops.size(); ++d) {
    std::vector<Span> spans;
    for (const Row op : g.steps.device_ops[d])
      if (g.steps.counts(op) && which(op)) spans.push_back(t.span_of(op));
    busy[g.analysis.devices[d].device] = overlap(united(std::move(spans)), g.steps.measured[d]);
  }
  return busy;
}

}  // namespace

Floors::Floors(const ReplayGraph& graph) : graph_(graph) {
  const DeviceTimes recorded = times_of(graph, graph.recorded);
  for (std::size_t k = 0; k < link_share_.size(); ++k) {
    if (recorded.by_copy[k] == 0) continue;
    const std::vector<Ns> busy = busy_by_device(graph, [&](Row op) {
      return graph.analysis.trace.ops.copy[op] == static_cast<CopyKind>(k);
    });
    link_share_[k] =
        share_of(std::accumulate(busy.begin(), busy.end(), Ns{0}), recorded.by_copy[k]);
  }
  const std::vector<Ns> busy = busy_by_device(graph, [&](Row op) { return computes(graph, op); });
  for (std::size_t d = 0; d < busy.size(); ++d)
    compute_share_.push_back(share_of(busy[d], recorded.by_device[d]));
  for (std::size_t d = 0; d < graph.steps.device_steps.size(); ++d)
    periods_ += graph.steps.periods(d);
}

Bounds Floors::of_device(const Edges& edges, Guess guess) const {
  const DeviceTimes times = times_of(graph_, edges);
  const auto a_step = [&](Ns ns) { return scaled(ns / periods_, graph_.steps.scale); };
  Bounds b;
  b.products_ns = a_step(times.products);
  // For each device the busiest stream; a step is the mean over devices.
  const Trace& t = graph_.analysis.trace;
  std::vector<Ns> least(t.devices.size());
  for (std::size_t s = 0; s < times.by_stream.size(); ++s)
    least[t.streams[s].device] = std::max(least[t.streams[s].device], times.by_stream[s]);
  // At best, other streams could hide behind the busiest one, if the GPU has room for them.
  for (std::size_t d = 0; d < least.size() && guess != Guess::least; ++d)
    least[d] = std::max(least[d], scaled(times.by_device[d], compute_share_[d]));
  b.compute_ns = a_step(std::accumulate(least.begin(), least.end(), Ns{0}));
  for (std::size_t k = 0; k < times.by_copy.size(); ++k)
    if (times.by_copy[k] > 0)
      b.link_ns = std::max(b.link_ns, a_step(scaled(times.by_copy[k], link_share_[k])));
  return b;
}

Ns Floors::of_host(Edges edges) const {
  std::fill(edges.length.begin(), edges.length.end(), 0);
  return graph_.step_ns(graph_.times(edges));
}

}  // namespace gh
