// What sampled GPU metrics show about the SMs, the tensor cores and the memory within the steps.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Whether a sample, with the whole period that it averages over, lies within the steps of `device`
/// (an index into a.devices).
bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample);

/// The mean of an activity over the samples within the steps, 0 to 1. Nothing if there are none.
std::optional<double> sampled_activity(const Analysis& a, std::string_view activity);

/// The mean of a value that is not a fraction, such as power in W, over the samples within the
/// steps, or else over the whole of a monitor's file.
std::optional<double> sampled_value(const Analysis& a, std::string_view activity);

/// The mean of an activity over the whole of a monitor's file, where it is unknown which samples
/// lie within the steps: idle time and other work may be included.
std::optional<double> unaligned_activity(const Analysis& a, std::string_view activity);

/// How long samples cover something, and that time weighted by the activity: sums give the mean.
struct SampledTime {
  double sampled_ns = 0, active_ns = 0;
  SampledTime& operator+=(const SampledTime& o) {
    sampled_ns += o.sampled_ns;
    active_ns += o.active_ns;
    return *this;
  }
  /// 0 to 1. Nothing if no sample covers it.
  std::optional<double> mean() const {
    return sampled_ns > 0 ? std::optional(active_ns / sampled_ns) : std::nullopt;
  }
};

/// An activity over time, from the profiler's own samples: a monitor's are too far apart to
/// describe single kernels.
class SampledCurve {
 public:
  SampledCurve(const Analysis& a, std::string_view activity);

  /// `device`: an index into trace.devices.
  SampledTime over(std::uint16_t device, Span span) const;

 private:
  // A sample covers the time since the one before, up to `end`; `active_ns` is the sum up to there.
  struct Piece {
    Ns end;
    double value, active_ns;
  };
  std::vector<std::vector<Piece>> pieces_;  // by device
};

}  // namespace gh
