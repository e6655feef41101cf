// The door to this folder: a trace together with all that has been found out about it before any
// rule.
//
//   classes.hpp   what names mean: kernels, CUDA calls, ranges, GPUs (tables in schemas/)
//   program_kind.hpp  what kind of program it is, by kinds.hpp (schemas/programs.toml)
//   ranks.hpp     the ranks of one job joined to one trace, on one clock
//   steps.hpp     where a device's steps begin and end: steps_from_ranges.cpp, else
//                 steps_from_launches.cpp, which chooses among what repeats in the launches:
//                 launch_sequence.hpp, turns.hpp, periods.hpp, inner_repeat.hpp; unit_names.hpp
//                 says what they are
//   crews.hpp     which host threads launch one work together
//   account.hpp   who owns each nanosecond of a step; idle_causes.hpp: why nothing ran
//   host_work.hpp what a host thread did in a stretch of time; host_seen.cpp: as samples show
//   facts.hpp     all of that as named values; a new one is a row of facts/table.cpp
//   flops.hpp     operations of matrix products and convolutions, told by shapes in ranges
//   roofline.hpp  what the device needs for them at least, and what binds a unit
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
#include "base/unit_words.hpp"
#include "trace/trace.hpp"

namespace gh {

struct Analysis {
  Trace trace;
  Classes classes;
  NameClasses names;
  ProgramKind program;
  std::vector<Row> failed_calls;  ///< CUDA calls that returned an error, in order
  /// Those that did any work and were selected; none in a report without GPU work.
  std::vector<DeviceSteps> devices;
  /// Devices without steps that did next to nothing while others train: left out of all that
  /// follows.
  std::vector<DeviceSteps> unused_devices;
  Account account;  ///< account.devices is parallel to `devices`
  /// The most that launched work on one device within its steps, those that hardly did aside. With
  /// more than one, idle time is told of one of them only, and hides behind the others' work.
  std::size_t processes_on_a_device = 1;
  bool remade = false;  ///< of steps that a replay has made: nobody has recorded them

  /// Classifies the names, finds the steps, accounts for their time.
  Analysis(Trace read, Classes known, const Selection& selection);
  /// The same of a trace whose steps are known, made of a program that is.
  Analysis(Trace read, std::vector<DeviceSteps> with_steps, Classes known,
           ProgramKind known_program);

  Ns total_ns() const { return account.total_ns(); }  ///< of all steps on all devices
  std::int64_t step_count() const;                    ///< over all devices
  /// Why idle time, and what a fix gives back of it, is not fully known where processes share a
  /// GPU, in words; "" where none do.
  std::string why_shared() const;
  bool has_steps() const;  ///< false where a whole window stands in for them
  /// What a step is, singular: "training step", "token", "iteration"; "stretch" of ranges that the
  /// user selected; "window" where nothing repeats.
  std::string unit() const;
  /// The forms of it that sentences need.
  UnitWords words() const { return UnitWords(unit()); }
  /// "7 training steps of 8 micro-batches, 24 layers each"; "" where nothing repeats.
  std::string repeats() const;
  std::vector<Ns> step_lengths() const;  ///< of all devices
  /// The mean step as it was recorded; 0 without GPU work. Without steps, the mean window.
  Ns recorded_step_ns() const;
  /// The step as it was measured without a profiler; 0 where nobody did, or no steps were found
  /// that it could be one of.
  Ns measured_step_ns() const;
  /// How long a step takes: measured where it was, else as recorded.
  Ns step_ns() const { return measured_step_ns() > 0 ? measured_step_ns() : recorded_step_ns(); }
  /// From the first device's first step to the last one's end; what the host did is looked at
  /// within.
  Span analysed_window() const;
  /// The operations of the n-th analysed device that touch its steps, in order.
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
  /// The kernel class of an operation, or "" of copies, memsets and graphs.
  const std::string& kernel_class(Row op) const;

 private:
  void account_for_time();
};

}  // namespace gh
