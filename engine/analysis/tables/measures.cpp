#include "analysis/tables/measures.hpp"

namespace gh {

Measures& Measures::operator+=(const Measures& o) {
  each += o.each;
  device_ns += o.device_ns;
  path_ns += o.path_ns;
  bytes += o.bytes;
  sms += o.sms;
  sum += o.sum;
  forward_ns += o.forward_ns;
  backward_ns += o.backward_ns;
  host_ns += o.host_ns;
  peak_bytes += o.peak_bytes;
  return *this;
}

std::vector<Ns> path_by_group(
    const PathParts& path, std::size_t groups, const GroupOf& of_op, const GroupOf& of_call,
    const std::function<void(std::uint16_t, Span, const std::function<void(Ns, GroupId)>&)>&
        split_host) {
  std::vector<Ns> sums(groups);
  GroupId later = ungrouped;
  Ns until = 0, shared = 0;
  const auto take = [&](GroupId group, Ns ns) {
    sums[group] += ns;
    shared += ns;
  };
  for (const PathPart& p : *path.parts) {
    if (later != ungrouped) take(later, std::max<Ns>(0, until - p.span.end));
    GroupId group = later;
    if (p.of == PathPart::Of::operation) group = of_op(p.row);
    if (p.of == PathPart::Of::call) group = of_call(p.row);
    if (group == ungrouped) group = later == ungrouped ? 0 : later;
    Ns left = p.span.length();
    if (p.of == PathPart::Of::host)
      split_host(static_cast<std::uint16_t>(p.row), p.span, [&](Ns ns, GroupId of) {
        take(of, ns);
        left -= ns;
      });
    take(group, left);
    until = p.span.start;
    later = group;
  }
  if (later != ungrouped) take(later, std::max<Ns>(0, path.total_ns - shared));
  return sums;
}

std::optional<HottestKernel> hottest_kernel(const Analysis& a) {
  const Trace& t = a.trace;
  std::vector<Ns> ns(t.names.size());
  std::vector<std::int64_t> count(t.names.size());
  Ns all = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    a.each_op_in_steps(d, [&](Row op) {
      const bool is_kernel = t.ops.kind[op] == OpKind::kernel;
      if (!is_kernel && t.ops.kind[op] != OpKind::graph) return;
      const Ns length = t.ops.end[op] - t.ops.start[op];
      all += length;
      if (!is_kernel) return;
      ns[t.ops.name[op]] += length;
      ++count[t.ops.name[op]];
    });
  const auto most = std::max_element(ns.begin(), ns.end());
  if (most == ns.end() || *most <= 0) return std::nullopt;
  HottestKernel h;
  h.name = static_cast<NameId>(most - ns.begin());
  h.kernel_class = a.names.kernel[h.name];
  h.count = count[h.name];
  h.ns = *most;
  h.of_kernels = static_cast<double>(h.ns) / static_cast<double>(all);
  Ns while_it_runs = 0;  // parallel runs count once
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    Spans runs;
    a.each_op_in_steps(d, [&](Row op) {
      if (t.ops.kind[op] == OpKind::kernel && t.ops.name[op] == h.name)
        runs.push_back(t.span_of(op));
    });
    while_it_runs += total(united(std::move(runs)));
  }
  h.of_window =
      static_cast<double>(while_it_runs) / static_cast<double>(std::max<Ns>(a.total_ns(), 1));
  return h;
}

}  // namespace gh
