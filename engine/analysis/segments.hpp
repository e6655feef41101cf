// The whole recording, cut where the judged steps begin and end: every nanosecond from the first
// call or operation to the last belongs to one segment, and in it to one cause.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

struct Segment {
  enum class Kind {
    start_up,  ///< before the steps, while the GPU works less than half as much of the time as in
               ///< them: loading, compiling, allocating
    before,    ///< before the steps, while it works as in them
    steps,     ///< the judged steps, from the first to the last, or the judged window
    after,
  };
  Kind kind = Kind::steps;
  Span span;               ///< from its begin on the first device to its end on the last
  Ns device_ns = 0;        ///< its length, summed over devices
  Ns busy_ns = 0;          ///< of that, in which the GPUs worked
  std::int64_t steps = 0;  ///< on the device that has the most
  /// What repeats in it beside the unit, if the GPU works there.
  std::optional<UnitLevel> loop;
  std::vector<Ns> cause_ns;  ///< by cause of Segments::causes, summed over devices

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

/// How much of the recording lies outside of the judged steps, from 0 to 1; costs no account.
double fraction_outside(const Analysis& analysis);

/// Cuts the recording and accounts for each segment. A segment ends on each device where the steps
/// begin or end there. Empty without GPU work, where the user selected steps or ranges (what lies
/// outside was left out on purpose), and where steps were left out because the profiler lost their
/// work (what the GPU did outside is unknown).
Segments segments_of(const Analysis& analysis);

}  // namespace gh
