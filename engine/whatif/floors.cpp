#include "whatif/floors.hpp"

#include <algorithm>
#include <map>

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

template <class Key>
Ns largest(const std::map<Key, Ns>& sums) {
  Ns most = 0;
  for (const auto& [key, ns] : sums) most = std::max(most, ns);
  return most;
}

}  // namespace

Bounds bounds_of(const ReplayGraph& g, Edges edges) {
  const Trace& t = g.analysis.trace;
  std::map<std::uint32_t, Ns> by_stream;
  std::map<CopyKind, Ns> by_direction;
  Ns products = 0;
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    if (!g.steps.counts(op)) continue;
    const Ns ns = edges.length[g.op_node(op)];
    if (t.ops.kind[op] == OpKind::kernel || t.ops.kind[op] == OpKind::graph)
      by_stream[t.ops.stream[op]] += ns;
    if (crosses_link(t.ops.copy[op])) by_direction[t.ops.copy[op]] += ns;
    if (is_product(g.analysis.kernel_class(op))) products += ns;
  }
  const auto devices = static_cast<Ns>(g.steps.device_steps.size());
  Ns steps = 0;
  for (std::size_t d = 0; d < g.steps.device_steps.size(); ++d) steps += g.steps.periods(d);

  const auto a_step = [&](Ns ns) { return scaled(ns / steps, g.steps.scale); };
  Bounds b;
  b.products_ns = a_step(products);
  b.compute_ns = a_step(largest(by_stream) * devices);
  b.link_ns = a_step(largest(by_direction));
  std::fill(edges.length.begin(), edges.length.end(), 0);
  b.host_ns = g.step_ns(g.times(edges));
  return b;
}

}  // namespace gh
