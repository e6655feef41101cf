// How long a step takes without the profiler: the one figure that a report calls the step, and to
// which all its times and shares refer.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/analysis.hpp"

namespace gh {

/// By IdleCause.
using OfIdleCauses = std::array<double, idle_causes>;

/// A profiler slows down the host, so it makes idle time longer: how much a recorded idle
/// nanosecond counts depends on its cause. Kernels and copies take as long as recorded.
struct StepTime {
  enum class From : std::uint8_t {
    recorded,  ///< no replay was possible, and nobody measured: the mean as recorded
    replayed,  ///< replayed without what the profiler adds
    measured   ///< measured without a profiler
  };
  Ns ns = 0;           ///< the step, or the window where nothing repeats; the mean over devices
  Ns recorded_ns = 0;  ///< the same as recorded
  From from = From::recorded;
  double busy = 1;    ///< weight of a recorded nanosecond of GPU work: less than 1 only where
                      ///< the measured step is shorter than the work that was recorded
  OfIdleCauses idle;  ///< weights of a recorded idle nanosecond, by cause

  StepTime() { idle.fill(1); }
  /// As it was recorded.
  explicit StepTime(const Analysis& analysis);
  /// `step_ns` without the profiler. `idle_left` gives the relative weight of each cause's idle
  /// time; it is scaled so that idle time and the GPU's work add up to the step.
  StepTime(const Analysis& analysis, Ns step_ns, From told_from, const OfIdleCauses& idle_left);

  bool as_recorded() const { return from == From::recorded; }
  double of(IdleCause cause) const { return idle[static_cast<std::size_t>(cause)]; }
  /// The weight of a recorded nanosecond of a cause of the account.
  double of(const Cause& cause) const;
  /// All steps on all devices.
  double total_ns(const Analysis& analysis) const;
  /// The part of them that belongs to a cause of the account.
  double total_ns(const Analysis& analysis, const std::string& cause) const;
  /// Converts a share of the recorded steps, for time that is the same without the profiler.
  double share(double of_recorded) const;
};

}  // namespace gh
