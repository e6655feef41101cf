// What sampled GPU metrics say of the SMs, the tensor cores and the memory within the steps.
#pragma once
#include <optional>
#include <string_view>

#include "analysis/analysis.hpp"

namespace gh {

/// Whether a sample, and all of the time that it is an average over, lies within the steps of
/// `device` (an index into a.devices).
bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample);

/// The mean of an activity over the samples within the steps, 0 to 1. Nothing where there are none.
std::optional<double> sampled_activity(const Analysis& a, std::string_view activity);

/// Likewise over the whole of a monitor's file of which nothing tells what lies within the steps:
/// idle time and other work may be in it.
std::optional<double> unaligned_activity(const Analysis& a, std::string_view activity);

}  // namespace gh
