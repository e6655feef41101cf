#include "whatif/floors.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "whatif/apply.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

bool crosses_link(CopyKind k) {
  return k == CopyKind::h2d || k == CopyKind::d2h || k == CopyKind::p2p;
}

bool is_product(const std::string& kernel_class) {
  return kernel_class.starts_with("gemm_") || kernel_class == "attention_fused";
}

// What the operations that count take, all steps of all devices together.
struct DeviceTimes {
  std::vector<Ns> by_stream;     // kernels
  std::array<Ns, 16> by_copy{};  // copies over a link, by direction
  Ns products = 0;
};

DeviceTimes times_of(const ReplayGraph& g, const Edges& edges) {
  const Trace& t = g.analysis.trace;
  DeviceTimes times;
  times.by_stream.resize(t.streams.size());
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    if (!g.steps.counts(op)) continue;
    const Ns ns = edges.length[g.op_node(op)];
    if (t.ops.kind[op] == OpKind::kernel || t.ops.kind[op] == OpKind::graph)
      times.by_stream[t.ops.stream[op]] += ns;
    if (crosses_link(t.ops.copy[op])) times.by_copy[static_cast<std::size_t>(t.ops.copy[op])] += ns;
    if (is_product(g.analysis.kernel_class(op))) times.products += ns;
  }
  return times;
}

// Copies of one direction on several streams share the link, and each then takes longer: how much
// of their summed time the link was busy, as recorded.
double link_share(const ReplayGraph& g, CopyKind kind, Ns summed) {
  if (summed <= 0) return 1;
  const Trace& t = g.analysis.trace;
  std::vector<Spans> busy(t.devices.size());
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
    if (t.ops.copy[op] == kind && g.steps.counts(op))
      busy[t.device_of(op)].push_back(t.span_of(op));
  Ns all = 0;
  for (Spans& spans : busy) all += total(united(std::move(spans)));
  return std::min(1.0, static_cast<double>(all) / static_cast<double>(summed));
}

}  // namespace

Floors::Floors(const ReplayGraph& graph) : graph_(graph) {
  const DeviceTimes recorded = times_of(graph, graph.recorded);
  for (std::size_t k = 0; k < link_share_.size(); ++k)
    link_share_[k] = link_share(graph, static_cast<CopyKind>(k), recorded.by_copy[k]);
  for (std::size_t d = 0; d < graph.steps.device_steps.size(); ++d)
    periods_ += graph.steps.periods(d);
}

Bounds Floors::of_device(const Edges& edges) const {
  const DeviceTimes times = times_of(graph_, edges);
  const auto a_step = [&](Ns ns) { return scaled(ns / periods_, graph_.steps.scale); };
  Bounds b;
  b.products_ns = a_step(times.products);
  // Of each device the busiest stream; a step is the mean over devices.
  const Trace& t = graph_.analysis.trace;
  std::vector<Ns> busiest(t.devices.size());
  for (std::size_t s = 0; s < times.by_stream.size(); ++s)
    busiest[t.streams[s].device] = std::max(busiest[t.streams[s].device], times.by_stream[s]);
  b.compute_ns = a_step(std::accumulate(busiest.begin(), busiest.end(), Ns{0}));
  for (std::size_t k = 0; k < times.by_copy.size(); ++k)
    b.link_ns = std::max(b.link_ns, a_step(scaled(times.by_copy[k], link_share_[k])));
  return b;
}

Bounds Floors::of(Edges edges) const {
  Bounds b = of_device(edges);
  std::fill(edges.length.begin(), edges.length.end(), 0);
  b.host_ns = graph_.step_ns(graph_.times(edges));
  return b;
}

}  // namespace gh
