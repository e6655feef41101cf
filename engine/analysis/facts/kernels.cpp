#include <algorithm>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"
#include "analysis/flops.hpp"
#include "analysis/metrics.hpp"

namespace gh::fact {

FactValue busy(const Analysis& a) {
  double busy = 0;
  for (const DeviceAccount& d : a.account.devices) busy += static_cast<double>(d.busy_ns);
  return per(busy, static_cast<double>(a.total_ns()), "no GPU did any work in this report");
}

FactValue longest_idle_ns(const Analysis& a) {
  Ns longest = 0;
  for (const DeviceAccount& d : a.account.devices) longest = std::max(longest, d.longest_idle_ns);
  return static_cast<double>(longest);
}

FactValue kernels_per_step(const Analysis& a) { return per_step(a, sum_ops(a, is_kernel(a), one)); }

FactValue kernels_mean_ns(const Analysis& a) {
  return per(sum_ops(a, is_kernel(a), length_of(a)), sum_ops(a, is_kernel(a), one),
             "there were no kernels");
}

// Blocks against SMs, weighted by the time of kernels.
FactValue sm_fill(const Analysis& a) {
  double full = 0, all = 0;
  for (const DeviceSteps& d : a.devices) {
    const double sms = a.trace.devices[d.device].sm_count;
    if (sms <= 0) return Unknown{"the report does not tell how many SMs the GPU has"};
    for (const Row op : d.ops) {
      if (a.trace.ops.kind[op] != OpKind::kernel || a.kernel_class(op) == "collective") continue;
      const auto ns = static_cast<double>(a.trace.span_of(op).length());
      full += ns * std::min(1.0, a.trace.ops.blocks[op] / sms);
      all += ns;
    }
  }
  return per(full, all, "there were no kernels");
}

// As the profiler estimates it, weighted by the time of kernels.
FactValue occupancy(const Analysis& a) {
  const Ops& ops = a.trace.ops;
  if (ops.occupancy.empty())
    return Unknown{
        "no kernel bears an occupancy: PyTorch profiler traces have it, reports of Nsight Systems "
        "do not"};
  const auto estimated = [&](Row op) {
    return ops.kind[op] == OpKind::kernel && ops.occupancy[op] != no_occupancy &&
           a.kernel_class(op) != "collective";
  };
  const double sum = sum_ops(a, estimated, [&](Row op) {
    return static_cast<double>(a.trace.span_of(op).length()) * ops.occupancy[op];
  });
  return per(sum / 100, sum_ops(a, estimated, length_of(a)),
             "no kernel within the steps bears an occupancy");
}

// As sampled; else at most how full the grids are while anything computes.
FactValue sm_efficiency(const Analysis& a) {
  if (const auto sampled = sampled_activity(a, "sm_active")) return *sampled;
  const FactValue fill = sm_fill(a);
  if (!a.trace.availability(Source::graph_nodes).known())
    return Unknown{a.trace.availability(Source::graph_nodes).reason};
  if (!std::holds_alternative<double>(fill)) return fill;
  double computing = 0;
  for (const std::string& cause : a.account.causes)
    if (cause.starts_with("compute.") && cause != "compute.device_copy")
      computing += static_cast<double>(a.account.total_ns(cause));
  return per(std::get<double>(fill) * computing, static_cast<double>(a.total_ns()),
             "no GPU did any work in this report");
}

FactValue flops_per_step(const Analysis& a) {
  if (const auto flops = product_flops(a)) return per_step(a, *flops);
  return Unknown{
      "no range carries the shapes of products; record under "
      "torch.autograd.profiler.emit_nvtx(record_shapes=True)"};
}

FactValue mfu(const Analysis& a, const Device& d) {
  const auto flops = product_flops(a);
  if (!flops)
    return Unknown{"no range carries the shapes of products; see mfu.upper_bound_fraction"};
  return per(*flops, a.classes.peaks(d).half * static_cast<double>(a.total_ns()) / 1e9,
             "the GPU's peak is not known");
}

FactValue mfu_bound(const Analysis& a) {
  if (const auto bound = mfu_upper_bound(a)) return *bound;
  return Unknown{"the GPU's peak is not known"};
}

}  // namespace gh::fact
