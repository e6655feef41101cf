// What sampled GPU metrics say of the SMs, the tensor cores and the memory, whatever their source calls them (schemas/metrics.toml).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis.hpp"

namespace gh {

/// An activity of a GPU that is sampled under a name of its own by every tool.
struct SampledActivity {
  std::string name;                             ///< ours: sm_active, sm_occupancy, tensor_active, dram_active, dram_read
  std::vector<std::vector<std::string>> parts;  ///< globs over names of metrics; a metric of each list is one part of the activity
  std::string dcgm_field, dcgm_column;          ///< "" where DCGM has none
};

/// All that schemas/metrics.toml lists, in order of name.
const std::vector<SampledActivity>& activities();

/// Whether `wanted`, an activity's name or a glob, means the metric that is called `metric`.
bool is_metric(std::string_view wanted, std::string_view metric);

/// Whether a sample, and all of the time that it is an average over, lies within the steps of `device` (an index into a.devices).
bool sampled_in_steps(const Analysis& a, std::size_t device, Row sample);

/// The mean of an activity over the samples within the steps, 0 to 1. Nothing where there are none.
std::optional<double> sampled_activity(const Analysis& a, std::string_view activity);

/// Likewise over the whole of a monitor's file of which nothing tells what lies within the steps: idle time and other work may be in it.
std::optional<double> unaligned_activity(const Analysis& a, std::string_view activity);

}  // namespace gh
