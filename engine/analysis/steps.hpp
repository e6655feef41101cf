// Finds the steps of a trace (each is one repetition of what the program repeats) and the span that
// each of them took on every device.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/classes.hpp"
#include "analysis/program_kind.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Which part of a report to analyze; everything if nothing is set.
struct Selection {
  /// First and last number, both included.
  std::optional<std::pair<std::int64_t, std::int64_t>> steps;
  std::string range;  ///< a glob over range names: only what was launched inside such ranges
  /// Which level of repetition to use as steps, or which other loop: "token", "later batch";
  /// "window" for none of them, "" to choose one.
  std::string unit;
  std::optional<int> device;  ///< by ordinal
  std::optional<int> rank;    ///< the n-th process that used a GPU, in order of their devices
};

/// One step on one device: from the end of the last operation launched in the step before to the
/// end of the last one launched in it. The host runs ahead of the GPU, so these differ from the
/// ranges that mark steps on the host.
struct Step {
  Span span;
  std::int64_t number = 0;  ///< as its range counts it, otherwise counted from 0
  Ns host_start = 0;        ///< when the host began it
};

/// A level of repetition in a program, outermost first: requests of tokens; training steps of
/// micro-batches of layers.
struct UnitLevel {
  std::string name;  ///< singular: "training step", "micro-batch", "layer", "token"
  std::int64_t count =
      0;  ///< on the device; for a level within the steps, in one of the level around it
  bool operator==(const UnitLevel&) const = default;
};

enum class StepSource { ranges, kernels, selected_range, none };

/// The steps of one device. With StepSource::none there is one, the whole window, which is no
/// repetition.
struct DeviceSteps {
  std::uint16_t device = 0;
  std::uint16_t process = 0;  ///< that launched most of the work
  std::vector<Row> ops;       ///< of this device, in order of start
  StepSource source = StepSource::none;
  std::string described;    ///< "NVTX ranges 'step #'", for people
  std::vector<Step> steps;  ///< in order, disjoint
  /// The level of the steps comes first, with the count of all that the recording contains, even in
  /// part; then the levels that repeat within them. Empty if nothing repeats, or if the user
  /// selected ranges.
  std::vector<UnitLevel> levels;
  /// What the steps were found as, where who measured them has named them otherwise; else "".
  std::string found_as;
  /// Start-up steps that took far longer than the rest and were left out.
  std::int64_t left_out = 0;
  /// Whether the user chose these steps of more, or these ranges.
  bool selected = false;
  /// Whether they measure one size after another, and the largest is the only one left.
  bool is_largest_of_sweep = false;
  /// Steps left out because the profiler lost work in them, or right before, so that where they
  /// begin is unknown.
  std::int64_t lost = 0;
  /// False if the profiler lost work in all of the steps, in most repetitions of launches, or in
  /// the window.
  bool whole = true;
  /// By thread: its crew (crews.hpp), if that repeats something else on the device at the same
  /// time, and no_index otherwise. What it launches cuts no steps. Empty if there is no such crew.
  std::vector<std::uint16_t> other_crew;
  std::uint16_t crew = no_index;  ///< whose steps these are, where there are others
  /// From the device's first operation to the first step, start-up steps included.
  Ns before_ns = 0;

  std::vector<Ns> lengths() const;         ///< of the steps
  Ns worked_ns(const Trace& trace) const;  ///< by all operations, one after the other
  /// The crew that launched an operation, if it repeats something else; otherwise no_index.
  std::uint16_t other_crew_of(const Trace& trace, Row op) const {
    const Row call = other_crew.empty() ? no_row : trace.ops.call[op];
    return call == no_row ? no_index : other_crew[trace.calls.thread[call]];
  }
  /// What another of these crews launched, as a device whose steps are that crew's: none yet, and
  /// the crew of the steps here is one of the others there.
  DeviceSteps part_of(const Trace& trace, std::uint16_t crew) const;
  /// The operations that one of these crews launched, or none of them (no_index).
  std::vector<Row> ops_of(const Trace& trace, std::uint16_t crew) const;
  std::vector<std::uint16_t> other_crews() const;  ///< each once
  /// Whether the same levels repeat within a step, as often.
  bool repeats_like(const DeviceSteps& other) const;
  /// Whether it worked less than a hundredth of the time that another device did: a default
  /// context, a display, a framework that touches every GPU.
  bool hardly_worked(const Trace& trace, Ns other_worked_ns) const {
    return 100 * worked_ns(trace) < other_worked_ns;
  }
  /// The index of the step that contains a moment, or else of the next one.
  std::size_t step_at(Ns at) const {
    return static_cast<std::size_t>(
        std::partition_point(steps.begin(), steps.end(),
                             [&](const Step& s) { return s.span.end <= at; }) -
        steps.begin());
  }
};

/// Whether loops share one of these devices.
inline bool share_a_device(const std::vector<DeviceSteps>& devices) {
  return std::any_of(devices.begin(), devices.end(),
                     [](const DeviceSteps& d) { return !d.other_crew.empty(); });
}

/// Anything shorter is the start of a program: its shares say nothing about a long run.
inline constexpr Ns least_judged_ns = 1'000'000;

/// The devices that did any work (and that `selection` names), in order of ordinal. Throws Error if
/// the selection names something that the report does not have.
std::vector<DeviceSteps> find_steps(const Trace& trace, const Classes& classes,
                                    const NameClasses& names, const ProgramKind& program,
                                    const Selection& selection);

/// The names that Selection::unit may have: what repeats on these devices, those of the first one
/// first, other loops of the program, and the window.
std::vector<std::string> units_of(const Trace& trace, const Classes& classes,
                                  const NameClasses& names, const ProgramKind& program,
                                  const std::vector<DeviceSteps>& devices);

}  // namespace gh
