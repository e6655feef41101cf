// All facts. To add one, add a row here, where `gh-advise facts` should list it, and a function in
// the file of its subject (functions.hpp). A fact with a source is unknown if the report lacks that
// source; otherwise a value of 0 really means that there was nothing.
#include "analysis/facts/table.hpp"

#include "analysis/facts/functions.hpp"

namespace gh {

std::vector<Fact> fact_table() {  // NOLINT(readability-function-size): a table
  using namespace fact;
  return {
      {"report.producer", Unit::text, "The program that wrote the report, with its version.",
       report_producer},
      {"report.schema", Unit::text, "The version of the report's schema.", report_schema},
      {"capture.ns", Unit::ns, "From the first recorded event to the last.", capture_ns},
      {"capture.profiler_overhead_fraction", Unit::fraction,
       "Host time that the profiler reports for itself, as a share of the steps.",
       profiler_overhead},
      {"capture.recording_fraction", Unit::fraction,
       "Host time that recording ranges, operators, memory, Python frames and calls that launch "
       "nothing usually takes, as a share of the recording (schemas/overhead.toml).",
       recording},
      {"capture.launch_ns", Unit::ns,
       "Host time that recording usually adds to a call that launches a kernel "
       "(schemas/overhead.toml).",
       added_to_launches},
      {"capture.overhead_fraction", Unit::fraction,
       "How much recording added to the step, as a share of the step without it: the mean recorded "
       "step over step.measured_ns, minus 1. Below 0 if the recorded program ran faster.",
       overhead},
      {"capture.unlaunched_fraction", Unit::fraction,
       "The share of GPU operations whose launching call is missing from the report, not counting "
       "migrations.",
       unlaunched},
      {"capture.lost_work", Unit::text,
       "Calls whose work on the GPU is missing from the report, although that of later ones is "
       "there: \"620 of 1488 launches have no kernel\". Unknown if there are none.",
       lost_work},
      {"capture.environment_variables", Unit::count,
       "Environment variables of the profiled program that the report contains; `gh-advise scrub` "
       "removes them, along with everything else that identifies its owner.",
       environment_variables},
      {"capture.problems", Unit::count, "Tables and kinds of rows that could not be read.",
       problems},
      {"program.framework", Unit::text,
       "What launches most of the work: \"PyTorch\", \"JAX\", \"CUDA C++\" "
       "(schemas/programs.toml).",
       program_framework},
      {"program.runner", Unit::text,
       "What runs the framework, the outermost first: \"Lightning, DDP\".", program_runner},
      {"program.task", Unit::text,
       "What the program is for: \"training\", \"inference\", \"token inference\", \"diffusion\", "
       "\"solver\".",
       program_task},
      {"program.optimizer", Unit::text,
       "The optimizer's class, if a range around its step names it: \"AdamW\".", program_optimizer},
      {"program.evidence", Unit::text, "The names in the report that show all this.",
       program_evidence},
      {"device.count", Unit::count, "GPUs that did any work (and were selected).", device_count},
      {"device.processes", Unit::count,
       "Processes that launched work on one GPU within its steps, on the GPU with the most. "
       "Processes that took less than 1 % of its time do not count.",
       device_processes},
      {"device.name", Unit::text, "The name of the first GPU.", first_device<device_name>},
      {"device.compute_capability", Unit::count, "Its compute capability, as major + minor / 10.",
       first_device<compute_capability>},
      {"device.sm_count", Unit::count, "The number of its streaming multiprocessors.",
       first_device<sm_count>},
      {"device.copy_engines", Unit::count,
       "How many copies it runs at once: with one, uploads and downloads take turns.",
       first_device<copy_engines>},
      {"device.clock_hz", Unit::count, "The highest clock of its SMs, in Hz.",
       first_device<clock_hz>},
      {"device.memory_bytes", Unit::bytes, "The size of its memory.", first_device<memory_bytes>},
      {"device.tensor_cores", Unit::count, "1 if the GPU has tensor cores, otherwise 0.",
       first_device<tensor_cores>},
      {"device.fp32_flops_per_s", Unit::flops_per_s,
       "Peak FP32 rate of its CUDA cores (schemas/gpus.toml).", first_device<fp32_flops>},
      {"device.tf32_flops_per_s", Unit::flops_per_s,
       "Peak dense TF32 rate of its tensor cores; unknown if they do not support it.",
       first_device<tf32_flops>},
      {"device.half_flops_per_s", Unit::flops_per_s,
       "Peak dense FP16 and BF16 rate of its tensor cores.", first_device<half_flops>},
      {"device.tf32_speedup", Unit::count,
       "How many times faster a GEMM runs in TF32 than in FP32 on CUDA cores: the ratio of the "
       "peaks, each times the fraction that GEMMs attain.",
       first_device<tf32_speedup>},
      {"device.half_speedup", Unit::count,
       "How many times faster a GEMM runs in FP16 or BF16 than in FP32 on CUDA cores.",
       first_device<half_speedup>},
      {"device.link_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of its link to the host, one way, as attained in practice.",
       first_device<link_bytes_per_s>},
      {"device.memory_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of its memory for reads and writes together, as attained in practice: the data "
       "sheet's bandwidth times the fraction that copies attain.",
       first_device<memory_bytes_per_s>},
      {"device.coherent", Unit::count,
       "1 if CPU and GPU share their memory over NVLink-C2C (Grace Hopper, Grace Blackwell), "
       "otherwise 0.",
       first_device<coherent>},
      {"steps.count", Unit::count,
       "Steps analyzed, over all devices. If no steps were found, 1 per device: the whole window.",
       steps_count},
      {"steps.found", Unit::count,
       "1 if something repeats, 0 if the whole window stands in for steps.", steps_found},
      {"unit.name", Unit::text,
       "What these facts call a step: \"training step\", \"token\", \"denoising step\", \"frame\", "
       "\"iteration\"; \"window\" if nothing repeats.",
       unit_name},
      {"unit.per", Unit::text,
       "For messages that give a count: \"a step\", \"an iteration\"; \"in all\" if nothing "
       "repeats.",
       unit_per},
      {"unit.repeats", Unit::text,
       "The repetition and what it contains: \"7 training steps of 8 micro-batches, 24 layers "
       "each\".",
       unit_repeats},
      {"unit.micro_batches", Unit::count,
       "Micro-batches in a training step, if they repeat in it (gradient accumulation, pipeline "
       "stages).",
       unit_micro_batches},
      {"steps.source", Unit::text, "What the steps were found from.", first_device<steps_source>},
      {"steps.told_by", Unit::text,
       "What defines the steps: ranges, launches, selection (--range), or nothing.",
       first_device<steps_told_by>},
      {"steps.total_ns", Unit::ns, "The length of all steps on all devices, which shares refer to.",
       steps_total_ns},
      {"steps.left_out", Unit::count,
       "Start-up steps left out because they took more than twice the median.", steps_left_out},
      {"steps.recorded", Unit::count,
       "Steps that the recording contains, even in part, with those that are left out. The most of "
       "any device; 0 if nothing repeats.",
       steps_recorded},
      {"steps.lost", Unit::count,
       "Steps left out because the profiler lost work in them, or right before. The most of any "
       "device.",
       steps_lost},
      {"steps.work_before", Unit::count,
       "Kernels before the first step, by their time, counted in steps: a warm-up, or another "
       "loop. "
       "The most of any device.",
       steps_work_before},
      {"steps.work_outside", Unit::count,
       "The same of kernels that begin later and lie in no step: the end of the recording, or "
       "another loop.",
       steps_work_outside},
      {"steps.before_ns", Unit::ns,
       "Start-up: from a device's first operation to its first step, the mean over devices.",
       steps_before_ns},
      {"step.median_ns", Unit::ns,
       "The median step, from the end of one step on the GPU to the end of the next.",
       step_median_ns},
      {"step.mean_ns", Unit::ns, "The mean step.", step_mean_ns},
      {"step.shortest_ns", Unit::ns, "The shortest step.", step_shortest_ns},
      {"step.longest_ns", Unit::ns, "The longest step.", step_longest_ns},
      {"step.measured_ns", Unit::ns,
       "The step measured without a profiler, from --measured-step or from NAME.measured.json next "
       "to the report.",
       step_measured_ns},
      {"gpu.busy_fraction", Unit::fraction,
       "Time in which a device did anything at all (kernels, copies, memsets, graphs, migrations), "
       "as a share of the steps. A busy GPU is not necessarily an efficient one.",
       busy},
      {"gpu.coverage_fraction", Unit::fraction,
       "The share of that time which the report has kernel by kernel, copy by copy: all but CUDA "
       "graphs traced as a whole.",
       coverage},
      {"gpu.longest_idle_ns", Unit::ns, "The longest time in which a device did nothing.",
       longest_idle_ns},
      {"kernels.per_step", Unit::count,
       "Kernels a step, not counting those inside CUDA graphs traced as a whole.", kernels_per_step,
       Source::kernels},
      {"kernels.mean_ns", Unit::ns, "The mean duration of a kernel.", kernels_mean_ns,
       Source::kernels},
      {"kernels.sm_fill_fraction", Unit::fraction,
       "How much of the GPU the kernels' grids fill: blocks over SMs, at most 1, weighted by time. "
       "An upper bound of SM efficiency while kernels run.",
       sm_fill, Source::kernels},
      {"kernels.occupancy_fraction", Unit::fraction,
       "Warps that run on an SM over those that fit, as the PyTorch profiler estimates it for each "
       "kernel (est. achieved occupancy), weighted by time, without collectives. Low occupancy "
       "alone is not a problem.",
       occupancy, Source::kernels},
      {"sm.efficiency_fraction", Unit::fraction,
       "SMs at work, averaged over the steps: sampled if there are GPU metrics, otherwise an upper "
       "bound from blocks and SMs.",
       sm_efficiency},
      {"gemm.flops_per_step", Unit::count,
       "Floating-point operations of matrix products, convolutions and attention a step, from the "
       "shapes recorded with ranges or operators (record_shapes).",
       flops_per_step, Source::ranges},
      {"mfu.fraction", Unit::fraction,
       "Model FLOPs utilization: those operations relative to the GPU's FP16 and BF16 peak.", mfu},
      {"mfu.upper_bound_fraction", Unit::fraction,
       "The upper bound of mfu.fraction: time in matrix products and fused attention, each at the "
       "peak of its tier, as a share of the steps.",
       mfu_bound, Source::kernels},
      {"mfu.verdict", Unit::text,
       "For training a transformer on Ampere or Hopper: whether the utilization is usual, and what "
       "takes the rest of the time.",
       mfu_compared, Source::kernels},
      {"roofline.known_fraction", Unit::fraction,
       "Time of products, convolutions and attention with recorded shapes, of copies within the "
       "device and of memsets, as a share of the time of all kernels and these.",
       roofline_known, Source::kernels},
      {"roofline.efficiency_fraction", Unit::fraction,
       "The least time that the device needs for those, at its attainable rates "
       "(schemas/gpus.toml) and by the larger of operations and bytes, as a share of the time they "
       "took. Assumes a causal mask that halves attention.",
       roofline_efficiency, Source::kernels},
      {"unit.bound_by", Unit::text,
       "What takes most of a step: compute (products, convolutions, attention), memory "
       "(elementwise work, norms, reductions, optimizers, products with few rows), launching, the "
       "link, the network, the host, unified memory, waiting for other work; custom kernels, "
       "graphs, or products that generate tokens, if it is unknown what limits them.",
       bound_by_name, Source::kernels},
      {"unit.bound_by_reason", Unit::text, "The same with its share, and the next two.",
       bound_by_reason, Source::kernels},
      {"copies.h2d_bytes_per_step", Unit::bytes, "Bytes copied from host to device a step.",
       h2d_bytes_per_step, Source::copies},
      {"copies.d2h_bytes_per_step", Unit::bytes, "Bytes copied from device to host a step.",
       d2h_bytes_per_step, Source::copies},
      {"copies.h2d_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from host to device while they ran.", h2d_bytes_per_s, Source::copies},
      {"copies.d2h_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from device to host while they ran.", d2h_bytes_per_s, Source::copies},
      {"um.copies_per_step", Unit::count, "Migrations of unified memory a step.",
       um_copies_per_step, Source::unified_copies},
      {"um.bytes_per_step", Unit::bytes, "Bytes migrated by unified memory a step, both ways.",
       um_bytes_per_step, Source::unified_copies},
      {"um.copy_ns_per_step", Unit::ns, "Time of migrations a step, summed up.",
       um_copy_ns_per_step, Source::unified_copies},
      {"um.share_of_memory_operations", Unit::fraction,
       "The share of migrations in the time of all copies, memsets and migrations.",
       um_share_of_memory_operations, Source::unified_copies},
      {"um.thrashed_fraction", Unit::fraction,
       "The share of migrated bytes in 64 KiB blocks that moved back and forth, changing direction "
       "at least twice: thrashing.",
       um_thrashed, Source::unified_copies},
      {"um.gpu_faults_per_step", Unit::count, "GPU page faults on unified memory a step.",
       gpu_faults_per_step, Source::gpu_faults},
      {"loader.range_ns_per_step", Unit::ns, "Host time in ranges of the data loader a step.",
       loader_ns_per_step, Source::ranges},
      {"host.held_off_fraction", Unit::fraction,
       "While the GPU was idle and context switches of the launching thread were traced: the share "
       "of that time in which the thread was off the CPU, outside of any recorded call that waits.",
       held_off, Source::cpu_stretches},
      {"host.python_lock_fraction", Unit::fraction,
       "While the GPU was idle: the share of that time in which the launching thread waited for "
       "Python's global lock.",
       waits_for_python_lock, Source::python_lock},
      {"memory.peak_bytes", Unit::bytes, "The most device memory in use at once.", peak_memory,
       Source::memory_use},
      {"samples.sm_active_fraction", Unit::fraction,
       "SMs with at least one warp, the mean of the GPU metrics (or DCGM samples) within the "
       "steps. See samples.time_base.",
       sampled_sm_active},
      {"samples.sm_occupancy_fraction", Unit::fraction,
       "Warps on the SMs over the most that fit, from the same samples.", sampled_sm_occupancy},
      {"samples.tensor_active_fraction", Unit::fraction,
       "Tensor cores active, from the same samples.", sampled_tensor_active},
      {"samples.dram_active_fraction", Unit::fraction,
       "Device memory read or written, from the same samples: DCGM's value, or the sum of read and "
       "write bandwidth, at most 1 at any moment.",
       sampled_dram_active},
      {"samples.dram_read_fraction", Unit::fraction,
       "Device memory bandwidth used for reads, from the same samples.", sampled_dram_read},
      {"samples.power_w", Unit::watts, "Power that a GPU draws: DCGM's field 155 (--dcgm).",
       sampled_power},
      {"samples.power_limit_w", Unit::watts,
       "Power that it may draw under all limits: DCGM's field 164 (--dcgm).", sampled_power_limit},
      {"samples.time_base", Unit::text,
       "Whether the samples are aligned to the steps, or averaged over the whole of a monitor's "
       "file (--dcgm), which may contain idle time and other work.",
       sampled_time_base},
  };
}

}  // namespace gh
