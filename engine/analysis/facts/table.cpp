// All facts. A new one is a row here, in the place where `gh-advise facts` is to list it, and a
// function in the file of its subject (functions.hpp). A fact with a source is unknown where the
// report does not have it; that there was nothing of it is then a fact as well.
#include "analysis/facts/table.hpp"

#include "analysis/facts/functions.hpp"

namespace gh {

std::vector<Fact> fact_table() {  // NOLINT(readability-function-size): a table
  using namespace fact;
  return {
      {"report.producer", Unit::text, "What wrote the report, with its version.", report_producer},
      {"report.schema", Unit::text, "The version of the report's schema.", report_schema},
      {"capture.ns", Unit::ns, "From the first recorded event to the last.", capture_ns},
      {"capture.profiler_overhead_fraction", Unit::fraction,
       "Host time that the profiler says it took itself, of the steps.", profiler_overhead},
      {"capture.recording_fraction", Unit::fraction,
       "Host time that recording operators, memory and Python frames may have taken, CUDA calls "
       "aside, of the recording (schemas/kineto.toml). 0 where the profiler records none.",
       recording},
      {"capture.overhead_fraction", Unit::fraction,
       "What recording added to the step, of the step without it: the mean recorded step over "
       "step.measured_ns, less 1. Below 0 where the recorded program ran faster.",
       overhead},
      {"capture.unlaunched_fraction", Unit::fraction,
       "GPU operations of which the report does not have the call that launched them, migrations "
       "aside.",
       unlaunched},
      {"capture.environment_variables", Unit::count,
       "Environment variables of the profiled program that the report holds; `gh-advise scrub` "
       "takes them out, with what else says whose it is.",
       environment_variables},
      {"capture.problems", Unit::count,
       "Tables and kinds of rows that had to be left out on reading.", problems},
      {"program.framework", Unit::text,
       "What launches most of the work: \"PyTorch\", \"JAX\", \"CUDA C++\" "
       "(schemas/programs.toml).",
       program_framework},
      {"program.runner", Unit::text, "What runs that, the outermost first: \"Lightning, DDP\".",
       program_runner},
      {"program.task", Unit::text,
       "What it is for: \"training\", \"inference\", \"token inference\", \"diffusion\", "
       "\"solver\".",
       program_task},
      {"program.optimizer", Unit::text,
       "The optimizer's class, where a range of its step names it: \"AdamW\".", program_optimizer},
      {"program.evidence", Unit::text, "What the report shows of all that.", program_evidence},
      {"device.count", Unit::count, "GPUs that did any work (and were selected).", device_count},
      {"device.processes", Unit::count,
       "Processes that launched work on one GPU within its steps, on the GPU with the most; those "
       "that took less than 1 % of its time aside.",
       device_processes},
      {"device.name", Unit::text, "The first GPU's name.", first_device<device_name>},
      {"device.compute_capability", Unit::count, "Its compute capability, as major + minor / 10.",
       first_device<compute_capability>},
      {"device.sm_count", Unit::count, "Its streaming multiprocessors.", first_device<sm_count>},
      {"device.clock_hz", Unit::count, "The highest clock of its SMs, in Hz.",
       first_device<clock_hz>},
      {"device.memory_bytes", Unit::bytes, "Its memory.", first_device<memory_bytes>},
      {"device.tensor_cores", Unit::count, "1 where the GPU has tensor cores, 0 where not.",
       first_device<tensor_cores>},
      {"device.fp32_flops_per_s", Unit::flops_per_s,
       "Peak rate of its CUDA cores in FP32 (schemas/gpus.toml).", first_device<fp32_flops>},
      {"device.tf32_flops_per_s", Unit::flops_per_s,
       "Peak rate of its tensor cores in TF32, dense; unknown where they have none.",
       first_device<tf32_flops>},
      {"device.half_flops_per_s", Unit::flops_per_s,
       "Peak rate of its tensor cores in FP16 and BF16, dense.", first_device<half_flops>},
      {"device.tf32_speedup", Unit::count,
       "How many times faster a GEMM runs in TF32 than in FP32 on CUDA cores: the ratio of the "
       "peaks, each times the fraction of it that GEMMs reach.",
       first_device<tf32_speedup>},
      {"device.half_speedup", Unit::count,
       "How many times faster a GEMM runs in FP16 or BF16 than in FP32 on CUDA cores.",
       first_device<half_speedup>},
      {"device.link_bytes_per_s", Unit::bytes_per_s,
       "What its link to the host carries in one direction, in practice.",
       first_device<link_bytes_per_s>},
      {"device.memory_bytes_per_s", Unit::bytes_per_s,
       "What its memory carries, reading and writing together, in practice: the data sheet's "
       "bandwidth times what copies attain of it.",
       first_device<memory_bytes_per_s>},
      {"device.coherent", Unit::count,
       "1 where CPU and GPU share their memory over NVLink-C2C (Grace Hopper, Grace Blackwell), 0 "
       "where not.",
       first_device<coherent>},
      {"steps.count", Unit::count,
       "Steps analysed, over all devices. Without steps, 1 a device: the whole window.",
       steps_count},
      {"steps.found", Unit::count,
       "1 where something repeats, 0 where the whole window stands in for steps.", steps_found},
      {"unit.name", Unit::text,
       "What a step of these facts is: \"training step\", \"token\", \"denoising step\", "
       "\"frame\", "
       "\"iteration\"; \"window\" where nothing repeats.",
       unit_name},
      {"unit.per", Unit::text,
       "For a message that counts something: \"a step\", \"an iteration\"; \"in all\" where "
       "nothing "
       "repeats.",
       unit_per},
      {"unit.repeats", Unit::text,
       "What repeats, with what repeats within it: \"7 training steps of 8 micro-batches, 24 "
       "layers "
       "each\".",
       unit_repeats},
      {"unit.micro_batches", Unit::count,
       "Micro-batches in a training step, where they repeat in it (gradient accumulation, stages "
       "of a pipeline).",
       unit_micro_batches},
      {"steps.source", Unit::text, "What the steps were found from.", first_device<steps_source>},
      {"steps.told_by", Unit::text,
       "What told the steps: ranges, launches, selection (--range), or nothing.",
       first_device<steps_told_by>},
      {"steps.total_ns", Unit::ns,
       "The length of all steps on all devices: what shares are shares of.", steps_total_ns},
      {"steps.left_out", Unit::count,
       "Start-up steps left out because they took more than twice the median.", steps_left_out},
      {"steps.before_ns", Unit::ns,
       "From a device's first operation to its first step, the mean over devices: start-up.",
       steps_before_ns},
      {"step.median_ns", Unit::ns, "The median step, from GPU end to GPU end.", step_median_ns},
      {"step.mean_ns", Unit::ns, "The mean step.", step_mean_ns},
      {"step.shortest_ns", Unit::ns, "The shortest step.", step_shortest_ns},
      {"step.longest_ns", Unit::ns, "The longest step.", step_longest_ns},
      {"step.measured_ns", Unit::ns,
       "The step as it was measured without a profiler: --measured-step, or what lies beside the "
       "report in NAME.measured.json.",
       step_measured_ns},
      {"gpu.busy_fraction", Unit::fraction,
       "Time in which a device did anything at all (kernels, copies, memsets, graphs, migrations), "
       "of the steps. Busy is not efficient.",
       busy},
      {"gpu.longest_idle_ns", Unit::ns, "The longest time in which a device did nothing.",
       longest_idle_ns},
      {"kernels.per_step", Unit::count, "Kernels a step, those inside whole graphs not counted.",
       kernels_per_step, Source::kernels},
      {"kernels.mean_ns", Unit::ns, "The mean duration of a kernel.", kernels_mean_ns,
       Source::kernels},
      {"kernels.sm_fill_fraction", Unit::fraction,
       "How full kernels' grids make the GPU: blocks against SMs, at most 1, weighted by time. A "
       "ceiling of SM efficiency while kernels run.",
       sm_fill, Source::kernels},
      {"kernels.occupancy_fraction", Unit::fraction,
       "Warps that run on an SM against those that fit, as the PyTorch profiler estimates it for "
       "each kernel (est. achieved occupancy), weighted by time; collectives left out. Low "
       "occupancy alone is no fault.",
       occupancy, Source::kernels},
      {"sm.efficiency_fraction", Unit::fraction,
       "SMs at work, of the steps: sampled where GPU metrics were, otherwise a ceiling from blocks "
       "against SMs.",
       sm_efficiency},
      {"gemm.flops_per_step", Unit::count,
       "Floating-point operations of matrix products, convolutions and attention a step, from the "
       "shapes that ranges or operators carry (record_shapes).",
       flops_per_step, Source::ranges},
      {"mfu.fraction", Unit::fraction,
       "Model FLOPs utilization: those operations against the GPU's peak in FP16 and BF16.", mfu},
      {"mfu.upper_bound_fraction", Unit::fraction,
       "The most that it can be: time in matrix products and fused attention, each at the peak of "
       "its tier, of the steps.",
       mfu_bound, Source::kernels},
      {"mfu.verdict", Unit::text,
       "Of training a transformer on Ampere or Hopper: whether that is usual, and what takes the "
       "rest.",
       mfu_compared, Source::kernels},
      {"roofline.known_fraction", Unit::fraction,
       "Time of products, convolutions and attention whose shapes are recorded, and of copies "
       "within the device and memsets, of the time of all kernels and these.",
       roofline_known, Source::kernels},
      {"roofline.efficiency_fraction", Unit::fraction,
       "What the device needs for those, at the rates that it attains (schemas/gpus.toml) and by "
       "the larger of operations and bytes, of what they took. A mask that leaves half of an "
       "attention out is assumed.",
       roofline_efficiency, Source::kernels},
      {"unit.bound_by", Unit::text,
       "What most of a step goes by: compute (products, convolutions, attention), memory "
       "(elementwise work, norms, reductions, optimizers, products of few rows), launching, the "
       "link, the network, the host, unified memory, waiting for other work; kernels of its own, "
       "or graphs, where nothing tells what binds them.",
       bound_by_name, Source::kernels},
      {"unit.bound_by_reason", Unit::text, "That with its share, and the next two.",
       bound_by_reason, Source::kernels},
      {"copies.h2d_bytes_per_step", Unit::bytes, "Copied from host to device a step.",
       h2d_bytes_per_step, Source::copies},
      {"copies.d2h_bytes_per_step", Unit::bytes, "Copied from device to host a step.",
       d2h_bytes_per_step, Source::copies},
      {"copies.h2d_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from host to device while they ran.", h2d_bytes_per_s, Source::copies},
      {"copies.d2h_bytes_per_s", Unit::bytes_per_s,
       "Bandwidth of copies from device to host while they ran.", d2h_bytes_per_s, Source::copies},
      {"um.copies_per_step", Unit::count, "Migrations of unified memory a step.",
       um_copies_per_step, Source::unified_copies},
      {"um.bytes_per_step", Unit::bytes, "Migrated by unified memory a step, both ways.",
       um_bytes_per_step, Source::unified_copies},
      {"um.copy_ns_per_step", Unit::ns, "Time of migrations a step, summed.", um_copy_ns_per_step,
       Source::unified_copies},
      {"um.share_of_memory_operations", Unit::fraction,
       "Migrations' share of the time of all copies, memsets and migrations.",
       um_share_of_memory_operations, Source::unified_copies},
      {"um.thrashed_fraction", Unit::fraction,
       "The share of migrated bytes in 64 KiB blocks that went to and fro and back again, turning "
       "at least twice: thrashing.",
       um_thrashed, Source::unified_copies},
      {"um.gpu_faults_per_step", Unit::count, "Page faults of the GPU on unified memory a step.",
       gpu_faults_per_step, Source::gpu_faults},
      {"loader.range_ns_per_step", Unit::ns, "Host time in ranges of the data loader a step.",
       loader_ns_per_step, Source::ranges},
      {"host.held_off_fraction", Unit::fraction,
       "Of the GPU's idle time in which context switches of the launching thread were traced: the "
       "part in which it was off the CPU and in no recorded call that waits.",
       held_off, Source::cpu_stretches},
      {"host.python_lock_fraction", Unit::fraction,
       "Of the GPU's idle time: the part in which the launching thread waited for Python's global "
       "lock.",
       waits_for_python_lock, Source::python_lock},
      {"memory.peak_bytes", Unit::bytes, "The most device memory in use at once.", peak_memory,
       Source::memory_use},
      {"samples.sm_active_fraction", Unit::fraction,
       "SMs with a warp, averaged over the samples of GPU metrics (or DCGM's) within the steps. "
       "See samples.time_base.",
       sampled_sm_active},
      {"samples.sm_occupancy_fraction", Unit::fraction,
       "Warps on the SMs, of the most that fit, averaged likewise.", sampled_sm_occupancy},
      {"samples.tensor_active_fraction", Unit::fraction, "Tensor cores active, averaged likewise.",
       sampled_tensor_active},
      {"samples.dram_active_fraction", Unit::fraction,
       "Device memory read or written, averaged likewise: DCGM's, or bandwidth read and written "
       "together, at most 1 at any moment.",
       sampled_dram_active},
      {"samples.dram_read_fraction", Unit::fraction,
       "Bandwidth of device memory used for reading, averaged likewise.", sampled_dram_read},
      {"samples.power_w", Unit::watts,
       "What a GPU draws, averaged likewise: DCGM's field 155 (--dcgm).", sampled_power},
      {"samples.power_limit_w", Unit::watts,
       "What it may draw, all limits considered: DCGM's field 164 (--dcgm).", sampled_power_limit},
      {"samples.time_base", Unit::text,
       "Whether the samples are aligned to the steps, or averaged over the whole of a monitor's "
       "file (--dcgm), which may hold idle time and other work.",
       sampled_time_base},
  };
}

}  // namespace gh
