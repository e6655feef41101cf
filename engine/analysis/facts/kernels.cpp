#include <fmt/format.h>

#include <algorithm>

#include "analysis/facts/functions.hpp"
#include "analysis/facts/sums.hpp"
#include "analysis/flops.hpp"
#include "analysis/metrics.hpp"
#include "analysis/structure/roofline.hpp"

namespace gh::fact {

FactValue busy(const Analysis& a) {
  double busy = 0;
  for (const DeviceAccount& d : a.account.devices) busy += static_cast<double>(d.busy_ns);
  return per(busy, static_cast<double>(a.total_ns()), "no GPU did any work in this report");
}

FactValue coverage(const Analysis& a) {
  if (a.busy_step_ns() == 0) return Unknown{"no GPU did any work in this report"};
  return a.coverage();
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

// Blocks relative to SMs, weighted by the time of kernels.
FactValue sm_fill(const Analysis& a) {
  double full = 0, all = 0;
  for (const DeviceSteps& d : a.devices) {
    const double sms = a.trace.devices[d.device].sm_count;
    if (sms <= 0) return Unknown{"the report does not say how many SMs the GPU has"};
    for (const Row op : d.ops) {
      if (a.trace.ops.kind[op] != OpKind::kernel || a.is_collective(op)) continue;
      const auto ns = static_cast<double>(a.trace.span_of(op).length());
      full += ns * std::min(1.0, a.trace.ops.blocks[op] / sms);
      all += ns;
    }
  }
  return per(full, all, "there were no kernels");
}

// The profiler's estimate, weighted by the time of kernels.
FactValue occupancy(const Analysis& a) {
  const Ops& ops = a.trace.ops;
  if (ops.occupancy.empty())
    return Unknown{
        "kernels have no occupancy: PyTorch profiler traces contain it, Nsight Systems reports do "
        "not"};
  const auto estimated = [&](Row op) {
    return ops.kind[op] == OpKind::kernel && ops.occupancy[op] != no_occupancy &&
           !a.is_collective(op);
  };
  const double sum = sum_ops(a, estimated, [&](Row op) {
    return static_cast<double>(a.trace.span_of(op).length()) * ops.occupancy[op];
  });
  return per(sum / 100, sum_ops(a, estimated, length_of(a)),
             "no kernel within the steps has an occupancy");
}

// As sampled; otherwise at most how full the grids are while anything computes.
FactValue sm_efficiency(const Analysis& a) {
  if (const auto sampled = sampled_activity(a, "sm_active")) return *sampled;
  const FactValue fill = sm_fill(a);
  if (!a.trace.availability(Source::graph_nodes).known())
    return Unknown{a.trace.availability(Source::graph_nodes).reason};
  if (!std::holds_alternative<double>(fill)) return fill;
  double computing = 0;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    if (const Cause& cause = a.account.kinds[c];
        cause.computes() && cause.of != Cause::Of::device_copy)
      computing += static_cast<double>(a.account.total_ns(a.account.causes[c]));
  return per(std::get<double>(fill) * computing, static_cast<double>(a.total_ns()),
             "no GPU did any work in this report");
}

FactValue flops_per_step(const Analysis& a) {
  const ProductFlops counted = product_flops(a);
  if (counted.flops) return per_step(a, *counted.flops);
  return Unknown{
      "no range contains the shapes of products; record under "
      "torch.autograd.profiler.emit_nvtx(record_shapes=True)"};
}

FactValue mfu(const Analysis& a) {
  if (const auto share = mfu_of(a)) return *share;
  const ProductFlops counted = product_flops(a);
  if (counted.convolutions_untold > 0)
    return Unknown{
        fmt::format("the recording does not give the output sizes of {} convolutions; see "
                    "mfu.upper_bound_fraction",
                    counted.convolutions_untold)};
  if (!counted.flops)
    return Unknown{"no range contains the shapes of products; see mfu.upper_bound_fraction"};
  if (const ProductTimes products = product_times(a); 2 * products.known_ns < products.all_ns)
    return Unknown{
        "most products were launched in no range that contains their shapes; see "
        "mfu.upper_bound_fraction"};
  return Unknown{"the GPU's peak is unknown"};
}

FactValue mfu_bound(const Analysis& a) {
  if (const auto bound = mfu_upper_bound(a)) return *bound;
  return Unknown{"the GPU's peak is unknown"};
}

FactValue mfu_compared(const Analysis& a) {
  if (std::string text = mfu_verdict(a, StepTime(a)); !text.empty()) return text;
  return Unknown{
      "given only for training a transformer on a data-center Ampere or Hopper GPU, if shapes or "
      "the "
      "upper bound decide it"};
}

FactValue roofline_known(const Analysis& a) {
  const Roofline r = roofline_of(a);
  return per(r.known_ns, r.device_ns, "there were no kernels");
}

FactValue roofline_efficiency(const Analysis& a) {
  const Roofline r = roofline_of(a);
  // A few memsets say nothing about the program.
  constexpr double least_known = 0.05;
  if (r.known_ns < least_known * r.device_ns)
    return Unknown{
        "operations and bytes are known for hardly any kernel: no range contains shapes"};
  return per(r.least_ns, r.known_ns, "operations and bytes are unknown for all kernels");
}

FactValue bound_by_name(const Analysis& a) {
  const BoundBy bound = bound_by(a, StepTime(a));
  if (bound.by.empty()) return Unknown{"no GPU did any work in this report"};
  return bound.by;
}

FactValue bound_by_reason(const Analysis& a) {
  const BoundBy bound = bound_by(a, StepTime(a));
  if (bound.by.empty()) return Unknown{"no GPU did any work in this report"};
  return bound_text(a, bound);
}

}  // namespace gh::fact
