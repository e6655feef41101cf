#include "analysis/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "analysis/flops.hpp"
#include "analysis/metrics.hpp"

namespace gh {
namespace {

FactValue number(double v) { return v; }
FactValue per(double sum, double of, const char* why) {
  return of > 0 ? FactValue(sum / of) : FactValue(Unknown{why});
}

// What is asked of the operations that overlap the steps of their device.
template <class Wanted, class Value>
double sum_ops(const Analysis& a, Wanted wanted, Value value) {
  double sum = 0;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const Spans& window = a.account.devices[d].window;
    if (window.empty()) continue;
    for (const Row op : a.devices[d].ops)
      if (a.trace.ops.start[op] < window.back().end && a.trace.ops.end[op] > window.front().start &&
          wanted(op))
        sum += static_cast<double>(value(op));
  }
  return sum;
}

// An operation's time inside the steps is close to its duration, since steps end where operations
// do.
auto length_of(const Analysis& a) {
  return [&a](Row op) { return a.trace.span_of(op).length(); };
}
auto bytes_of(const Analysis& a) {
  return [&a](Row op) { return a.trace.ops.bytes[op]; };
}
auto one = [](Row) { return 1; };

auto is_copy(const Analysis& a, CopyKind kind) {
  return [&a, kind](Row op) {
    return a.trace.ops.kind[op] == OpKind::copy && a.trace.ops.copy[op] == kind;
  };
}
auto is_kernel(const Analysis& a) {
  return [&a](Row op) { return a.trace.ops.kind[op] == OpKind::kernel; };
}
auto is_um(const Analysis& a) {
  return [&a](Row op) { return is_unified(a.trace.ops.copy[op]); };
}

// A fact of copies is known where copies were recorded; that there were none is then a fact as
// well.
template <class Compute>
auto needs(Source source, Compute compute) {
  return [source, compute](const Analysis& a) -> FactValue {
    const Availability& have = a.trace.availability(source);
    if (!have.known()) return Unknown{have.reason};
    return compute(a);
  };
}

template <class Compute>
auto needs_device(Compute compute) {
  return [compute](const Analysis& a) -> FactValue {
    if (a.devices.empty()) return Unknown{"no GPU did any work in this report"};
    return compute(a, a.trace.devices[a.devices.front().device]);
  };
}

FactValue known(double v, const char* why) {
  return v > 0 ? FactValue(v) : FactValue(Unknown{why});
}

FactValue activity(const Analysis& a, const char* name) {
  if (const auto sampled = sampled_activity(a, name)) return *sampled;
  if (const auto loose = unaligned_activity(a, name)) return *loose;
  const Availability& have = a.trace.availability(Source::samples);
  return Unknown{have.known() ? "this metric was not sampled within the steps" : have.reason};
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

FactValue sm_efficiency(const Analysis& a) {
  if (const auto sampled = sampled_activity(a, "sm_active")) return *sampled;
  const FactValue fill = sm_fill(a);
  if (!a.trace.availability(Source::graph_nodes).known())
    return Unknown{a.trace.availability(Source::graph_nodes).reason};
  if (!std::holds_alternative<double>(fill)) return fill;
  double busy = 0;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    if (a.account.causes[c].starts_with("compute.") && a.account.causes[c] != "compute.device_copy")
      busy += static_cast<double>(a.account.total_ns(a.account.causes[c]));
  return per(std::get<double>(fill) * busy, static_cast<double>(a.total_ns()),
             "no GPU did any work in this report");
}

// The most bytes of device memory in use at once, counted from what was allocated before the
// recording on.
FactValue peak_memory(const Analysis& a) {
  std::map<std::uint16_t, std::int64_t> now;
  std::int64_t peak = 0;
  for (Row r = 0; r < a.trace.memory_use.size(); ++r) {
    const MemoryKind kind = a.trace.memory_use.kind[r];
    if (kind != MemoryKind::device && kind != MemoryKind::managed) continue;
    if (std::none_of(a.devices.begin(), a.devices.end(), [&](const DeviceSteps& d) {
          return d.device == a.trace.memory_use.device[r];
        }))
      continue;
    std::int64_t& used = now[a.trace.memory_use.device[r]];
    used = std::max<std::int64_t>(
        0, used + a.trace.memory_use.bytes[r]);  // the free of what was never seen allocated
    peak = std::max(peak, used);
  }
  return static_cast<double>(peak);
}

// The share of migrated bytes in 64 KiB blocks that unified memory moved at least three times and
// in both directions.
FactValue thrashed(const Analysis& a) {
  struct Moves {
    int up = 0, down = 0;
    double bytes = 0;
  };
  std::unordered_map<std::int64_t, Moves> blocks;
  double all = 0;
  bool addressed = false;
  for (const DeviceSteps& d : a.devices)
    for (const Row op : d.ops) {
      if (!is_unified(a.trace.ops.copy[op])) continue;
      addressed = addressed || a.trace.ops.address_of(op) != 0;
      Moves& m = blocks[a.trace.ops.address_of(op) >> 16];
      (a.trace.ops.copy[op] == CopyKind::um_d2h ? m.down : m.up) += 1;
      m.bytes += static_cast<double>(a.trace.ops.bytes[op]);
      all += static_cast<double>(a.trace.ops.bytes[op]);
    }
  if (!addressed)
    return Unknown{"there were no migrations, or the report has no addresses of them"};
  double moved = 0;
  for (const auto& [block, m] : blocks)
    if (m.up > 0 && m.down > 0 && m.up + m.down >= 3) moved += m.bytes;
  return moved / all;
}

double loader_ns(const Analysis& a) {
  std::vector<Span> spans;
  const Span hull = a.hull();
  for (Row r = 0; r < a.trace.ranges.size(); ++r)
    if (a.names.is_phase(Phase::loader, a.trace.ranges.name[r]))
      spans.push_back({std::max(hull.start, a.trace.ranges.start[r]),
                       std::min(hull.end, a.trace.ranges.end[r])});
  return static_cast<double>(total(united(std::move(spans))));
}

std::vector<Fact> basic_facts() {
  const auto lengths = [](auto choose) {
    return [choose](const Analysis& a) -> FactValue {
      const std::vector<Ns> l = a.step_lengths();
      return l.empty() ? FactValue(Unknown{"no GPU did any work in this report"})
                       : FactValue(static_cast<double>(choose(l)));
    };
  };
  const auto per_step = [](Source source, auto wanted, auto value) {
    return needs(source, [wanted, value](const Analysis& a) {
      return per(sum_ops(a, wanted(a), value(a)), static_cast<double>(a.step_count()), "no steps");
    });
  };
  const auto copied = [](CopyKind k) { return [k](const Analysis& a) { return is_copy(a, k); }; };
  const auto bandwidth = [](CopyKind k) {
    return needs(Source::copies, [k](const Analysis& a) {
      return per(1e9 * sum_ops(a, is_copy(a, k), bytes_of(a)),
                 sum_ops(a, is_copy(a, k), length_of(a)), "there were no such copies");
    });
  };
  const auto ones = [](const Analysis&) { return one; };
  const auto bytes = [](const Analysis& a) { return bytes_of(a); };
  const auto lengths_of = [](const Analysis& a) { return length_of(a); };
  return {
      {"report.producer", Unit::text, "What wrote the report, with its version.",
       [](const Analysis& a) -> FactValue { return a.trace.producer; }},
      {"report.schema", Unit::text, "The version of the report's schema.",
       [](const Analysis& a) -> FactValue { return a.trace.schema; }},
      {"capture.ns", Unit::ns, "From the first recorded event to the last.",
       [](const Analysis& a) {
         return number(static_cast<double>(a.trace.capture_end - a.trace.capture_start));
       }},
      {"capture.profiler_overhead_fraction", Unit::fraction,
       "Host time that the profiler says it took itself, of the steps.",
       [](const Analysis& a) {
         const Span hull = a.hull();
         return per(static_cast<double>(overlap(united(a.trace.profiler_overhead), hull)),
                    static_cast<double>(hull.length()), "no GPU did any work in this report");
       }},
      {"capture.recording_fraction", Unit::fraction,
       "Host time that recording operators, memory and Python frames may have taken, CUDA calls "
       "aside, of the recording (schemas/kineto.toml). 0 where the profiler records none.",
       [](const Analysis& a) {
         const auto length =
             static_cast<double>(a.trace.capture_end - a.trace.capture_start) *
             static_cast<double>(std::max<std::size_t>(a.trace.processes.size(), 1));
         return per(static_cast<double>(a.trace.recording_ns), length, "nothing was recorded");
       }},
      {"capture.unlaunched_fraction", Unit::fraction,
       "GPU operations of which the report does not have the call that launched them, migrations "
       "aside.",
       [](const Analysis& a) {
         const auto any = [&a](Row op) { return !is_unified(a.trace.ops.copy[op]); };
         return per(sum_ops(
                        a,
                        [&a](Row op) {
                          return !is_unified(a.trace.ops.copy[op]) &&
                                 a.trace.ops.call[op] == no_row;
                        },
                        one),
                    sum_ops(a, any, one), "no GPU did any work in this report");
       }},
      {"capture.environment_variables", Unit::count,
       "Environment variables of the profiled program that the report holds; `gh-advise scrub` "
       "takes them out, with what else says whose it is.",
       [](const Analysis& a) {
         return number(static_cast<double>(a.trace.environment_variables));
       }},
      {"capture.problems", Unit::count,
       "Tables and kinds of rows that had to be left out on reading.",
       [](const Analysis& a) { return number(static_cast<double>(a.trace.problems.size())); }},
      {"device.count", Unit::count, "GPUs that did any work (and were selected).",
       [](const Analysis& a) { return number(static_cast<double>(a.devices.size())); }},
      {"device.name", Unit::text, "The first GPU's name.",
       needs_device([](const Analysis&, const Device& d) -> FactValue {
         return d.name.empty() ? FactValue(Unknown{"the report does not name its GPU"})
                               : FactValue(d.name);
       })},
      {"device.compute_capability", Unit::count, "Its compute capability, as major + minor / 10.",
       needs_device([](const Analysis&, const Device& d) {
         return known(d.compute_major + d.compute_minor / 10.0, "the report does not say");
       })},
      {"device.sm_count", Unit::count, "Its streaming multiprocessors.",
       needs_device([](const Analysis&, const Device& d) {
         return known(d.sm_count, "the report does not say");
       })},
      {"device.clock_hz", Unit::count, "The highest clock of its SMs, in Hz.",
       needs_device([](const Analysis&, const Device& d) {
         return known(d.clock_hz, "the report does not say");
       })},
      {"device.memory_bytes", Unit::bytes, "Its memory.",
       needs_device([](const Analysis&, const Device& d) {
         return known(static_cast<double>(d.memory_bytes), "the report does not say");
       })},
      {"device.tensor_cores", Unit::count, "1 where the GPU has tensor cores, 0 where not.",
       needs_device([](const Analysis& a, const Device& d) -> FactValue {
         const GpuPeaks p = a.classes.peaks(d);
         return p.known || d.compute_major > 0 ? FactValue(p.has_tensor_cores ? 1.0 : 0.0)
                                               : FactValue(Unknown{"nothing is known of this GPU"});
       })},
      {"device.fp32_flops_per_s", Unit::flops_per_s,
       "Peak rate of its CUDA cores in FP32 (schemas/gpus.toml).",
       needs_device([](const Analysis& a, const Device& d) {
         return known(a.classes.peaks(d).fp32, "schemas/gpus.toml does not list this GPU");
       })},
      {"device.tf32_flops_per_s", Unit::flops_per_s,
       "Peak rate of its tensor cores in TF32, dense; unknown where they have none.",
       needs_device([](const Analysis& a, const Device& d) {
         return known(a.classes.peaks(d).tf32,
                      "this GPU has no TF32, or is not listed in schemas/gpus.toml");
       })},
      {"device.half_flops_per_s", Unit::flops_per_s,
       "Peak rate of its tensor cores in FP16 and BF16, dense.",
       needs_device([](const Analysis& a, const Device& d) {
         return known(a.classes.peaks(d).half,
                      "this GPU has none, or is not listed in schemas/gpus.toml");
       })},
      {"device.tf32_speedup", Unit::count,
       "How many times faster a GEMM runs in TF32 than in FP32 on CUDA cores: the ratio of the "
       "peaks, each times the fraction of it that GEMMs reach.",
       needs_device([](const Analysis& a, const Device& d) {
         const GpuPeaks p = a.classes.peaks(d);
         return per(p.tf32 * a.classes.attainable().tf32,
                    p.fp32 * a.classes.attainable().fp32 * (p.tf32 > 0),
                    "this GPU has no TF32, or is not listed in schemas/gpus.toml");
       })},
      {"device.half_speedup", Unit::count,
       "How many times faster a GEMM runs in FP16 or BF16 than in FP32 on CUDA cores.",
       needs_device([](const Analysis& a, const Device& d) {
         const GpuPeaks p = a.classes.peaks(d);
         return per(p.half * a.classes.attainable().half,
                    p.fp32 * a.classes.attainable().fp32 * (p.half > 0),
                    "this GPU has no tensor cores, or is not listed in schemas/gpus.toml");
       })},
      {"device.link_bytes_per_s", Unit::bytes_per_s,
       "What its link to the host carries in one direction, in practice.",
       needs_device([](const Analysis& a, const Device& d) {
         return known(a.classes.peaks(d).host_link_bytes_per_s,
                      "schemas/gpus.toml does not list this GPU");
       })},
      {"device.coherent", Unit::count,
       "1 where CPU and GPU share their memory over NVLink-C2C (Grace Hopper, Grace Blackwell), 0 "
       "where not.",
       needs_device([](const Analysis& a, const Device& d) {
         return number(a.classes.peaks(d).coherent ? 1 : 0);
       })},
      {"steps.count", Unit::count,
       "Steps analysed, over all devices. Without steps, 1 a device: the whole window.",
       [](const Analysis& a) { return number(static_cast<double>(a.step_count())); }},
      {"steps.found", Unit::count,
       "1 where training steps were found, 0 where the whole window stands in for them.",
       [](const Analysis& a) { return number(a.has_steps() ? 1 : 0); }},
      {"steps.source", Unit::text, "What the steps were found from.",
       needs_device([](const Analysis& a, const Device&) -> FactValue {
         return a.devices.front().described;
       })},
      {"steps.total_ns", Unit::ns,
       "The length of all steps on all devices: what shares are shares of.",
       [](const Analysis& a) { return number(static_cast<double>(a.total_ns())); }},
      {"steps.left_out", Unit::count,
       "Start-up steps left out because they took more than twice the median.",
       [](const Analysis& a) {
         return number(static_cast<double>(
             std::accumulate(a.devices.begin(), a.devices.end(), std::int64_t{0},
                             [](std::int64_t n, const DeviceSteps& d) { return n + d.left_out; })));
       }},
      {"step.median_ns", Unit::ns, "The median step, from GPU end to GPU end.",
       lengths([](const std::vector<Ns>& l) { return median(l); })},
      {"step.mean_ns", Unit::ns, "The mean step.", lengths([](const std::vector<Ns>& l) {
         return std::accumulate(l.begin(), l.end(), Ns{0}) / static_cast<Ns>(l.size());
       })},
      {"step.shortest_ns", Unit::ns, "The shortest step.",
       lengths([](const std::vector<Ns>& l) { return *std::min_element(l.begin(), l.end()); })},
      {"step.longest_ns", Unit::ns, "The longest step.",
       lengths([](const std::vector<Ns>& l) { return *std::max_element(l.begin(), l.end()); })},
      {"gpu.busy_fraction", Unit::fraction,
       "Time in which a device did anything at all (kernels, copies, memsets, graphs, migrations), "
       "of the steps. Busy is not efficient.",
       [](const Analysis& a) {
         double busy = 0;
         for (const DeviceAccount& d : a.account.devices) busy += static_cast<double>(d.busy_ns);
         return per(busy, static_cast<double>(a.total_ns()), "no GPU did any work in this report");
       }},
      {"gpu.longest_idle_ns", Unit::ns, "The longest time in which a device did nothing.",
       [](const Analysis& a) {
         Ns longest = 0;
         for (const DeviceAccount& d : a.account.devices)
           longest = std::max(longest, d.longest_idle_ns);
         return number(static_cast<double>(longest));
       }},
      {"kernels.per_step", Unit::count, "Kernels a step, those inside whole graphs not counted.",
       per_step(
           Source::kernels, [](const Analysis& a) { return is_kernel(a); }, ones)},
      {"kernels.mean_ns", Unit::ns, "The mean duration of a kernel.",
       needs(Source::kernels,
             [](const Analysis& a) {
               return per(sum_ops(a, is_kernel(a), length_of(a)), sum_ops(a, is_kernel(a), one),
                          "there were no kernels");
             })},
      {"kernels.sm_fill_fraction", Unit::fraction,
       "How full kernels' grids make the GPU: blocks against SMs, at most 1, weighted by time. A "
       "ceiling of SM efficiency while kernels run.",
       needs(Source::kernels, sm_fill)},
      {"kernels.occupancy_fraction", Unit::fraction,
       "Warps that run on an SM against those that fit, as the PyTorch profiler estimates it for "
       "each kernel (est. achieved occupancy), weighted by time; collectives left out. Low "
       "occupancy alone is no fault.",
       needs(Source::kernels, occupancy)},
      {"sm.efficiency_fraction", Unit::fraction,
       "SMs at work, of the steps: sampled where GPU metrics were, otherwise a ceiling from blocks "
       "against SMs.",
       sm_efficiency},
      {"gemm.flops_per_step", Unit::count,
       "Floating-point operations of matrix products and attention a step, from the shapes that "
       "ranges carry (emit_nvtx with record_shapes).",
       needs(Source::ranges,
             [](const Analysis& a) {
               const auto flops = product_flops(a);
               return flops ? per(*flops, static_cast<double>(a.step_count()), "no steps")
                            : FactValue(
                                  Unknown{"no range carries the shapes of products; record under "
                                          "torch.autograd.profiler.emit_nvtx(record_shapes=True)"});
             })},
      {"mfu.fraction", Unit::fraction,
       "Model FLOPs utilization: those operations against the GPU's peak in FP16 and BF16.",
       needs_device([](const Analysis& a, const Device& d) -> FactValue {
         const auto flops = product_flops(a);
         if (!flops)
           return Unknown{"no range carries the shapes of products; see mfu.upper_bound_fraction"};
         return per(*flops, a.classes.peaks(d).half * static_cast<double>(a.total_ns()) / 1e9,
                    "the GPU's peak is not known");
       })},
      {"mfu.upper_bound_fraction", Unit::fraction,
       "The most that it can be: time in matrix products and fused attention, each at the peak of "
       "its tier, of the steps.",
       needs(Source::kernels,
             [](const Analysis& a) {
               const auto bound = mfu_upper_bound(a);
               return bound ? FactValue(*bound) : FactValue(Unknown{"the GPU's peak is not known"});
             })},
      {"copies.h2d_bytes_per_step", Unit::bytes, "Copied from host to device a step.",
       per_step(Source::copies, copied(CopyKind::h2d), bytes)},
      {"copies.d2h_bytes_per_step", Unit::bytes, "Copied from device to host a step.",
       per_step(Source::copies, copied(CopyKind::d2h), bytes)},
      {"copies.h2d_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from host to device while they ran.", bandwidth(CopyKind::h2d)},
      {"copies.d2h_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from device to host while they ran.", bandwidth(CopyKind::d2h)},
      {"um.copies_per_step", Unit::count, "Migrations of unified memory a step.",
       per_step(
           Source::unified_copies, [](const Analysis& a) { return is_um(a); }, ones)},
      {"um.bytes_per_step", Unit::bytes, "Migrated by unified memory a step, both ways.",
       per_step(
           Source::unified_copies, [](const Analysis& a) { return is_um(a); }, bytes)},
      {"um.copy_ns_per_step", Unit::ns, "Time of migrations a step, summed.",
       per_step(
           Source::unified_copies, [](const Analysis& a) { return is_um(a); }, lengths_of)},
      {"um.share_of_memory_operations", Unit::fraction,
       "Migrations' share of the time of all copies, memsets and migrations.",
       needs(Source::unified_copies,
             [](const Analysis& a) {
               const auto any = [&a](Row op) {
                 return a.trace.ops.kind[op] == OpKind::copy || a.trace.ops.kind[op] == OpKind::set;
               };
               return per(sum_ops(a, is_um(a), length_of(a)), sum_ops(a, any, length_of(a)),
                          "there were no memory operations");
             })},
      {"um.thrashed_fraction", Unit::fraction,
       "The share of migrated bytes in 64 KiB blocks that moved at least three times and both "
       "ways: thrashing.",
       needs(Source::unified_copies, thrashed)},
      {"um.gpu_faults_per_step", Unit::count, "Page faults of the GPU on unified memory a step.",
       needs(Source::gpu_faults,
             [](const Analysis& a) {
               double n = 0;
               for (const DeviceAccount& d : a.account.devices)
                 for (Row f = 0; f < a.trace.gpu_faults.size(); ++f)
                   if (a.devices[static_cast<std::size_t>(&d - a.account.devices.data())].device ==
                           a.trace.gpu_faults.device[f] &&
                       !d.window.empty() && a.trace.gpu_faults.start[f] >= d.window.front().start &&
                       a.trace.gpu_faults.end[f] <= d.window.back().end)
                     n += static_cast<double>(
                         std::max<std::int64_t>(1, a.trace.gpu_faults.count[f]));
               return per(n, static_cast<double>(a.step_count()), "no steps");
             })},
      {"loader.range_ns_per_step", Unit::ns, "Host time in ranges of the data loader a step.",
       needs(Source::ranges,
             [](const Analysis& a) {
               const double ns = loader_ns(a);
               return ns > 0 ? per(ns,
                                   static_cast<double>(a.step_count()) /
                                       std::max<double>(1, static_cast<double>(a.devices.size())),
                                   "no steps")
                             : FactValue(Unknown{"no range marks the data loader"});
             })},
      {"memory.peak_bytes", Unit::bytes, "The most device memory in use at once.",
       needs(Source::memory_use, peak_memory)},
      {"samples.sm_active_fraction", Unit::fraction,
       "SMs with a warp, averaged over the samples of GPU metrics (or DCGM's) within the steps. "
       "See samples.time_base.",
       [](const Analysis& a) { return activity(a, "sm_active"); }},
      {"samples.sm_occupancy_fraction", Unit::fraction,
       "Warps on the SMs, of the most that fit, averaged likewise.",
       [](const Analysis& a) { return activity(a, "sm_occupancy"); }},
      {"samples.tensor_active_fraction", Unit::fraction, "Tensor cores active, averaged likewise.",
       [](const Analysis& a) { return activity(a, "tensor_active"); }},
      {"samples.dram_active_fraction", Unit::fraction,
       "Device memory read or written, averaged likewise: DCGM's, or bandwidth read and written "
       "together, at most 1 at any moment.",
       [](const Analysis& a) { return activity(a, "dram_active"); }},
      {"samples.dram_read_fraction", Unit::fraction,
       "Bandwidth of device memory used for reading, averaged likewise.",
       [](const Analysis& a) { return activity(a, "dram_read"); }},
      {"samples.time_base", Unit::text,
       "Whether the samples are aligned to the steps, or averaged over the whole of a monitor's "
       "file (--dcgm), which may hold idle time and other work.",
       [](const Analysis& a) -> FactValue {
         if (!a.trace.monitor.time_base.empty()) return a.trace.monitor.time_base;
         if (a.trace.samples.size() > 0) return "aligned: the report's own samples";
         return Unknown{a.trace.availability(Source::samples).reason};
       }},
  };
}

}  // namespace

const char* name_of(Unit unit) {
  static constexpr std::array names{"ns",      "fraction", "count", "bytes",
                                    "bytes/s", "FLOP/s",   "text"};
  return names[static_cast<std::size_t>(unit)];
}

std::string shown(const FactValue& value, Unit unit) {
  if (const auto* u = std::get_if<Unknown>(&value)) return fmt::format("unknown ({})", u->reason);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  const double v = std::get<double>(value);
  switch (unit) {
    case Unit::ns: return duration(v);
    case Unit::fraction: return percent(v);
    case Unit::bytes: return bytes_text(v);
    case Unit::bytes_per_s: return fmt::format("{:.{}f} GB/s", v / 1e9, v < 9.95e9 ? 2 : 1);
    case Unit::flops_per_s: return fmt::format("{:.0f} TFLOP/s", v / 1e12);
    default: return v == std::floor(v) ? fmt::format("{:.0f}", v) : fmt::format("{:.1f}", v);
  }
}

Facts::Facts(const Analysis& analysis) : analysis_(analysis), facts_(basic_facts()) {
  for (const std::string& cause : analysis.account.causes) {
    facts_.push_back({"account." + cause + "_ns", Unit::ns,
                      fmt::format("A step's time that the account gives to {}, on average.", cause),
                      [cause](const Analysis& a) {
                        return per(static_cast<double>(a.account.total_ns(cause)),
                                   static_cast<double>(a.step_count()),
                                   "no GPU did any work in this report");
                      }});
    facts_.push_back({"account." + cause + "_fraction", Unit::fraction,
                      fmt::format("The share of the steps that the account gives to {}.", cause),
                      [cause](const Analysis& a) {
                        return per(static_cast<double>(a.account.total_ns(cause)),
                                   static_cast<double>(a.total_ns()),
                                   "no GPU did any work in this report");
                      }});
  }
  values_.resize(facts_.size());
  for (std::size_t i = 0; i < facts_.size(); ++i) index_.emplace(facts_[i].name, i);
}

std::vector<std::string> Facts::names() const {
  std::vector<std::string> names;
  for (const Fact& f : facts_) names.push_back(f.name);
  return names;
}

const FactValue& Facts::value(const std::string& name) const {
  const auto fact = index_.find(name);
  if (fact == index_.end())
    throw Error(
        fmt::format("there is no fact '{}'{}", printable(name), did_you_mean(name, names())));
  Value& v = values_[fact->second];
  std::call_once(v.computed, [&] { v.value = facts_[fact->second].compute(analysis_); });
  return v.value;
}

}  // namespace gh
