// The whole recording, cut where the judged steps begin and end: every nanosecond from the first
// call or operation to the last belongs to one segment, and in it to one cause.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/loop_place.hpp"

namespace gh {

/// A piece of idle time, and the place of its device in Analysis::devices.
struct LongIdle {
  Idle idle;
  std::size_t device = 0;
};

/// A unit that some of the devices repeat, or a loop that shares them.
struct UnitShare {
  UnitLevel unit;  ///< with the most judged steps of any of these devices
  Ns busy_ns = 0;  ///< how long they worked, summed
};

struct Segment {
  enum class Kind {
    start_up,  ///< before the steps, while the GPU works less than half as much of the time as in
               ///< them: loading, compiling, allocating
    before,    ///< before the steps, while it works as in them
    steps,     ///< the judged steps, from the first to the last, or the judged window
    after,
  };
  Kind kind = Kind::steps;
  Span span;         ///< from its begin on the first device to its end on the last
  Ns device_ns = 0;  ///< its length, summed over devices
  Ns busy_ns = 0;    ///< of that, in which the GPUs worked
  /// Judged steps, on the device that has the most of those that repeat the report's unit.
  std::int64_t steps = 0;
  /// Of the steps, where devices repeat different units at the same time, or several loops share a
  /// device: each unit, the report's first. Empty where there is one.
  std::vector<UnitShare> units;
  /// What else repeats in it, if the GPU works there, or at the same time as the steps: the name is
  /// one for `--unit`.
  std::optional<UnitLevel> loop;
  std::vector<Ns> cause_ns;  ///< by cause of Segments::causes, summed over devices
  /// Pauses outside of the steps that belong to no step and to no other loop, by device and in
  /// order: of each the longest piece with one cause, if that is longer than the mean step and lies
  /// between two operations of the device. What comes before a device's first operation is
  /// start-up, and after its last one nothing may be left to compute. Empty where a single step is
  /// judged: others may be longer.
  std::vector<LongIdle> long_idle;

  /// Where `loop` lies.
  LoopPlace place() const;
  double busy_fraction() const {
    return device_ns > 0 ? static_cast<double>(busy_ns) / static_cast<double>(device_ns) : 0;
  }
};

struct Segments {
  Span recording;                   ///< of the analyzed devices and their processes
  std::vector<std::string> causes;  ///< as in Account
  std::vector<Segment> list;        ///< in order of time; those that take no time are left out

  /// Of the recording, on all devices.
  Ns device_ns() const;
  double fraction(const Segment& segment) const;
};

/// "start-up", "15 batches", "after the last batch".
std::string label_of(const Analysis& analysis, const Segment& segment);

/// How much of the recording lies outside of the judged steps, from 0 to 1; costs no account.
double fraction_outside(const Analysis& analysis);

/// Cuts the recording and accounts for each segment. A segment ends on each device where the steps
/// begin or end there. Empty without GPU work, where the user selected steps or ranges (what lies
/// outside was left out on purpose), and where steps were left out because the profiler lost their
/// work (what the GPU did outside is unknown).
Segments segments_of(const Analysis& analysis);

}  // namespace gh
