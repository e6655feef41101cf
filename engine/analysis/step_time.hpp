// How long a step takes without the profiler: the one figure that a report calls the step, and to
// which all its times and shares refer.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Steps of the same program differ by this much from run to run, and from a recording without its
/// overhead (59 recordings: median 1 %).
inline constexpr double run_to_run = 0.06;

/// By cause, as Account::causes lists them: nanoseconds, or weights of a recorded nanosecond.
using OfCauses = std::vector<double>;

/// A profiler slows down the host, so it makes idle time longer, and work may overlap otherwise:
/// how much a recorded nanosecond counts depends on its cause. Kernels and copies take as long as
/// recorded.
struct StepTime {
  enum class From : std::uint8_t {
    recorded,  ///< no replay was possible, and nobody measured: the mean as recorded
    replayed,  ///< replayed without what the profiler adds
    measured   ///< measured without a profiler
  };
  Ns ns = 0;           ///< the step, or the window where nothing repeats; the mean over devices
  Ns recorded_ns = 0;  ///< the same as recorded
  Ns part_ns = 0;  ///< as recorded, the mean of what is replayed and stands for all; 0 if nothing
  From from = From::recorded;
  /// Without the profiler the step should lie between these: recording slowed the host as much as
  /// ever measured, or as little, and runs differ (run_to_run). Both are `ns` where the step was
  /// measured, or nothing can be replayed.
  Ns least_ns = 0, most_ns = 0;
  /// Whether `ns` says little of the step without the profiler: its range is wider than a quarter,
  /// beside how much runs differ.
  bool is_uncertain() const {
    return static_cast<double>(most_ns - least_ns) >
           (0.25 + 2 * run_to_run) * static_cast<double>(ns);
  }
  /// The most that timing the step again, as it is, should give: no fix makes it longer.
  Ns most_as_is_ns() const {
    return std::max(most_ns, static_cast<Ns>((1 + run_to_run) * static_cast<double>(ns)));
  }
  /// Weight of a nanosecond in which recorded kernels run: the mean of those of the causes that
  /// compute.
  double work = 1;
  OfCauses weights;  ///< of a recorded nanosecond

  StepTime() = default;
  /// As it was recorded.
  explicit StepTime(const Analysis& analysis);
  /// `step_ns` without the profiler. The weights of idle time are relative: they are scaled so that
  /// idle time and the GPU's work, which stays as it is `left`, add up to the step.
  StepTime(const Analysis& analysis, Ns step_ns, From told_from, const OfCauses& left);

  bool as_recorded() const { return from == From::recorded; }
  double of(IdleCause cause) const {
    return weights.empty()
               ? 1
               : weights[weights.size() - idle_causes + static_cast<std::size_t>(cause)];
  }
  /// The weight of a recorded nanosecond of a cause of the account.
  double of(const Analysis& analysis, const Cause& cause) const;
  /// All steps on all devices.
  double total_ns(const Analysis& analysis) const;
  /// The part of them that belongs to a cause of the account, by its place.
  double total_ns(const Analysis& analysis, std::size_t cause) const;
  /// How much of them the GPUs are at work, from 0 to 1.
  double busy_share(const Analysis& analysis) const;
  /// Converts a share of the recorded steps, for time that is the same without the profiler.
  double share(double of_recorded) const;
};

}  // namespace gh
