// The entry to this folder: a trace together with everything that is found out about it before any
// rule runs.
//
//   classes.hpp   what names mean: kernels, CUDA calls, ranges, GPUs (tables in schemas/)
//   program_kind.hpp  what kind of program it is, out of those in kinds.hpp (schemas/programs.toml)
//   ranks.hpp     joins the ranks of one job into one trace with one clock
//   steps.hpp     where a device's steps begin and end: steps_from_ranges.cpp, else
//                 steps_from_launches.cpp, which chooses among the repetitions in the launches:
//                 launch_sequence.hpp, launch_turns.hpp, periods.hpp, inner_repeat.hpp;
//                 unit_names.hpp names them
//   other_loops.hpp  what else the program repeats, before the steps or after them
//   job_steps.hpp  what devices of one job share: the unit, its levels, the first and last step
//   crews.hpp     which host threads launch work together
//   segments.hpp  the whole recording: what lies before the steps, the steps, what lies after them
//   account.hpp   assigns each nanosecond of a step; idle_causes.hpp: why nothing ran
//   facts.hpp     all of that as named values; to add one, add a row to facts/table.cpp
//   structure/    which ranges, module, operator and pass each launch belongs to; the least time
//                 that work of known size needs
//   tables/       work grouped by a key and summed up
//   memory.hpp    GPU memory over time, and what held it at its peak
//   flops.hpp     operations of matrix products and convolutions, from the shapes in ranges
//   residency.hpp how many blocks of a kernel an SM holds at once
//   metrics.hpp   sampled GPU metrics within the steps
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/account.hpp"
#include "analysis/classes.hpp"
#include "analysis/program_kind.hpp"
#include "analysis/steps.hpp"
#include "base/lazy.hpp"
#include "base/unit_words.hpp"
#include "trace/trace.hpp"

namespace gh {

class RangeFlops;
class Structure;
struct KnownWork;
struct PeriodicEvent;
struct Segments;

/// Below this coverage, reports say what they could not judge, and what looks into kernels is not
/// called clean.
inline constexpr double least_coverage = 0.9;

struct Analysis {
  Trace trace;
  Classes classes;
  NameClasses names;
  ProgramKind program;
  std::vector<Row> failed_calls;  ///< CUDA calls that returned an error, in order
  /// Those that did any work and were selected; none in a report without GPU work.
  std::vector<DeviceSteps> devices;
  /// Devices without steps that did almost nothing while others had steps: ignored from here on.
  std::vector<DeviceSteps> unused_devices;
  Account account;  ///< account.devices is parallel to `devices`
  /// The most processes that launched work on one device within its steps, not counting those that
  /// hardly did. With more than one, idle time describes only one of them and may overlap with the
  /// others' work.
  std::size_t processes_on_a_device = 1;
  bool remade = false;  ///< the steps come from a replay, not from a recording

  /// Classifies the names, finds the steps, accounts for their time.
  Analysis(Trace read, Classes known, const Selection& selection);
  /// The same for a trace whose steps and kind of program are known.
  Analysis(Trace read, std::vector<DeviceSteps> with_steps, Classes known,
           ProgramKind known_program);

  Ns total_ns() const { return account.total_ns(); }  ///< of all steps on all devices
  std::int64_t step_count() const;                    ///< over all devices
  /// Why idle time, and what a fix saves of it, is uncertain where processes share a GPU, in words;
  /// "" where none do.
  std::string why_shared() const;
  bool has_steps() const;  ///< false where the whole window stands in for them
  /// What a step is called, singular: "training step", "token", "iteration"; "stretch" for ranges
  /// that the user selected; "window" where nothing repeats.
  std::string unit() const;
  /// Its forms for use in sentences.
  UnitWords words() const { return UnitWords(unit()); }
  /// "7 training steps of 8 micro-batches, 24 layers each", and " on 2 devices" where each of them
  /// repeats that; "" where nothing repeats.
  std::string repeats() const;
  std::vector<Ns> step_lengths() const;  ///< of all devices
  /// The mean step as it was recorded; 0 without GPU work. Without steps, the mean window.
  Ns recorded_step_ns() const;
  /// The step as it was measured without a profiler; 0 where nobody measured it, or where no steps
  /// of that name were found, or the GPU's work alone takes longer.
  Ns measured_step_ns() const;
  /// In words; "" if it is used, or nobody measured.
  std::string why_measured_step_is_unused() const;
  /// The GPU's work in the mean step.
  Ns busy_step_ns() const;
  /// Of the time in which GPUs were busy, the share, 0 to 1, of what the report has one by one: all
  /// but CUDA graphs that were traced as a whole. 1 without GPU work.
  double coverage() const;
  /// The length of a step: as measured if it was measured, otherwise as recorded.
  Ns step_ns() const { return measured_step_ns() > 0 ? measured_step_ns() : recorded_step_ns(); }
  /// From the first device's first step to the last one's end: the window in which host activity is
  /// examined.
  Span analysed_window() const;
  /// By device of the trace: its place in `devices`, or their number where it is not analyzed.
  std::vector<std::size_t> slots() const;
  /// By thread: whether its process has an analyzed device.
  std::vector<std::uint8_t> analysed_threads() const;
  /// The operations that touch the steps of the n-th analyzed device, in order.
  std::vector<Row> ops_in_steps(std::size_t device) const;
  /// Calls take(row) with each of them.
  template <class Take>
  void each_op_in_steps(std::size_t device, Take take) const {
    const Spans& window = account.devices[device].window;
    std::size_t at = 0;
    for (const Row op : devices[device].ops) {
      while (at < window.size() && window[at].end <= trace.ops.start[op]) ++at;
      if (at == window.size()) break;
      if (trace.ops.end[op] > window[at].start) take(op);
    }
  }
  KernelClass class_of(Row op) const {
    return trace.ops.kind[op] == OpKind::kernel ? names.kernel[trace.ops.name[op]]
                                                : KernelClass::none;
  }
  bool is_collective(Row op) const { return class_of(op) == KernelClass::collective; }
  /// The name of an operation's class; "" for copies, memsets and graphs.
  const std::string& kernel_class(Row op) const;
  /// Where in the program each launch and each moment of the host lies; made when first asked for.
  const Structure& structure() const;
  /// What comes in every n-th step only; looked for when first asked for.
  const std::vector<PeriodicEvent>& periodic_events() const;
  /// Operations of the products that ranges name; counted when first asked for.
  const RangeFlops& range_flops() const;
  /// What products, copies within devices and memsets need at least; found when first asked for.
  const std::vector<KnownWork>& known_work() const;
  /// The whole recording, steps and all; made when first asked for.
  const Segments& segments() const;

 private:
  Lazy<RangeFlops> range_flops_;
  Lazy<std::vector<KnownWork>> known_work_;
  Lazy<Structure> structure_;
  Lazy<std::vector<PeriodicEvent>> periodic_events_;
  Lazy<Segments> segments_;
  void account_for_time();
  void take_measured_name();
};

}  // namespace gh
