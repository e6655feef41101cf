// Functions that compute facts: a file per subject, a function per fact. Names, units and docs are
// in table.cpp.
#pragma once
#include "analysis/facts.hpp"

namespace gh::fact {

// capture.cpp: the recording
FactValue report_producer(const Analysis&);
FactValue report_schema(const Analysis&);
FactValue capture_ns(const Analysis&);
FactValue profiler_overhead(const Analysis&);
FactValue recording(const Analysis&);
FactValue added_to_launches(const Analysis&);
FactValue overhead(const Analysis&);
FactValue unlaunched(const Analysis&);
FactValue lost_work(const Analysis&);
FactValue environment_variables(const Analysis&);
FactValue problems(const Analysis&);

// program.cpp: what kind of program it is
FactValue program_framework(const Analysis&);
FactValue program_runner(const Analysis&);
FactValue program_task(const Analysis&);
FactValue program_optimizer(const Analysis&);
FactValue program_evidence(const Analysis&);

// device.cpp: the GPU, by its data sheet
FactValue device_count(const Analysis&);
FactValue device_processes(const Analysis&);
FactValue device_name(const Analysis&, const Device&);
FactValue compute_capability(const Analysis&, const Device&);
FactValue sm_count(const Analysis&, const Device&);
FactValue copy_engines(const Analysis&, const Device&);
FactValue clock_hz(const Analysis&, const Device&);
FactValue memory_bytes(const Analysis&, const Device&);
FactValue tensor_cores(const Analysis&, const Device&);
FactValue fp32_flops(const Analysis&, const Device&);
FactValue tf32_flops(const Analysis&, const Device&);
FactValue half_flops(const Analysis&, const Device&);
FactValue tf32_speedup(const Analysis&, const Device&);
FactValue half_speedup(const Analysis&, const Device&);
FactValue link_bytes_per_s(const Analysis&, const Device&);
FactValue memory_bytes_per_s(const Analysis&, const Device&);
FactValue coherent(const Analysis&, const Device&);

// steps.cpp: how many, and how long
FactValue steps_count(const Analysis&);
FactValue steps_found(const Analysis&);
FactValue unit_name(const Analysis&);
FactValue unit_per(const Analysis&);
FactValue unit_repeats(const Analysis&);
FactValue unit_micro_batches(const Analysis&);
FactValue steps_source(const Analysis&, const Device&);
FactValue steps_told_by(const Analysis&, const Device&);
FactValue steps_total_ns(const Analysis&);
FactValue steps_left_out(const Analysis&);
FactValue steps_lost(const Analysis&);
FactValue steps_recorded(const Analysis&);
FactValue steps_work_before(const Analysis&);
FactValue steps_work_outside(const Analysis&);
FactValue steps_before_ns(const Analysis&);
FactValue step_measured_ns(const Analysis&);
FactValue step_median_ns(const Analysis&);
FactValue step_mean_ns(const Analysis&);
FactValue step_shortest_ns(const Analysis&);
FactValue step_longest_ns(const Analysis&);

// kernels.cpp: how busy the GPU is, and how well kernels and products use it
FactValue busy(const Analysis&);
FactValue coverage(const Analysis&);
FactValue longest_idle_ns(const Analysis&);
FactValue kernels_per_step(const Analysis&);
FactValue kernels_mean_ns(const Analysis&);
FactValue sm_fill(const Analysis&);
FactValue occupancy(const Analysis&);
FactValue sm_efficiency(const Analysis&);
FactValue flops_per_step(const Analysis&);
FactValue mfu(const Analysis&);
FactValue mfu_bound(const Analysis&);
FactValue mfu_compared(const Analysis&);
FactValue roofline_known(const Analysis&);
FactValue roofline_efficiency(const Analysis&);
FactValue bound_by_name(const Analysis&);
FactValue bound_by_reason(const Analysis&);

// memory.cpp: copies, unified memory, memory in use
FactValue h2d_bytes_per_step(const Analysis&);
FactValue d2h_bytes_per_step(const Analysis&);
FactValue h2d_bytes_per_s(const Analysis&);
FactValue d2h_bytes_per_s(const Analysis&);
FactValue um_copies_per_step(const Analysis&);
FactValue um_bytes_per_step(const Analysis&);
FactValue um_copy_ns_per_step(const Analysis&);
FactValue um_share_of_memory_operations(const Analysis&);
FactValue um_thrashed(const Analysis&);
FactValue gpu_faults_per_step(const Analysis&);
FactValue peak_memory(const Analysis&);

// host.cpp
FactValue loader_ns_per_step(const Analysis&);
FactValue held_off(const Analysis&);
FactValue waits_for_python_lock(const Analysis&);

// samples.cpp: GPU metrics, sampled by the profiler or a monitor
FactValue sampled_power(const Analysis&);
FactValue sampled_power_limit(const Analysis&);
FactValue sampled_sm_active(const Analysis&);
FactValue sampled_sm_occupancy(const Analysis&);
FactValue sampled_tensor_active(const Analysis&);
FactValue sampled_dram_active(const Analysis&);
FactValue sampled_dram_read(const Analysis&);
FactValue sampled_time_base(const Analysis&);

/// A fact about a device describes the first one.
template <FactValue (*of)(const Analysis&, const Device&)>
FactValue first_device(const Analysis& a) {
  if (a.devices.empty()) return Unknown{"no GPU did any work in this report"};
  return of(a, a.trace.devices[a.devices.front().device]);
}

}  // namespace gh::fact
