// How long a step takes without the profiler: the one figure that a report calls the step, and by
// which all its times and shares are told.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "analysis/analysis.hpp"

namespace gh {

/// By IdleCause.
using OfIdleCauses = std::array<double, idle_causes>;

/// A profiler makes the host slower, so it makes idle time longer: what a recorded idle nanosecond
/// counts for depends on its cause. Kernels and copies take as long as recorded.
struct StepTime {
  enum class From : std::uint8_t {
    recorded,  ///< nothing could be replayed, and nobody measured: the mean as it was recorded
    replayed,  ///< replayed without what the profiler adds
    measured   ///< measured without a profiler
  };
  Ns ns = 0;           ///< the step, or the window where nothing repeats; the mean over devices
  Ns recorded_ns = 0;  ///< the same as recorded
  From from = From::recorded;
  double busy = 1;    ///< what a recorded nanosecond of GPU work counts for: less than 1 only where
                      ///< the measured step is shorter than the work that was recorded
  OfIdleCauses idle;  ///< what a recorded idle nanosecond counts for

  StepTime() { idle.fill(1); }
  /// As it was recorded.
  explicit StepTime(const Analysis& analysis);
  /// `step_ns` without the profiler, where `idle_left` is what idle time of each cause then is: in
  /// proportion, so that with the GPU's work it adds up to the step.
  StepTime(const Analysis& analysis, Ns step_ns, From told_from, const OfIdleCauses& idle_left);

  bool as_recorded() const { return from == From::recorded; }
  double of(IdleCause cause) const { return idle[static_cast<std::size_t>(cause)]; }
  /// What a recorded nanosecond of a cause of the account counts for.
  double of(const std::string& cause) const;
  /// All steps on all devices.
  double total_ns(const Analysis& analysis) const;
  /// Of these, what a cause of the account has.
  double total_ns(const Analysis& analysis, const std::string& cause) const;
  /// What has a share of the recorded steps, if it takes as long without the profiler.
  double share(double of_recorded) const;
};

}  // namespace gh
