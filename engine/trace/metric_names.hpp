// What each tool calls the GPU metrics that it samples (schemas/metrics.toml).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// A sampled activity of a GPU, which each tool names differently.
struct SampledActivity {
  std::string name;  ///< our name: sm_active, sm_occupancy, tensor_active, dram_active, dram_read,
                     ///< sm_clock, power, power_limit
  /// Globs over metric names. A metric that one list matches is one part of the activity.
  std::vector<std::vector<std::string>> parts;
  std::string dcgm_field, dcgm_column;  ///< "" if DCGM has none
  std::string unit;  ///< "W", "MHz"; "" for a share, which reports store in percent
  double most = 1;   ///< the largest possible value, in that unit; 1 for a share
  bool is_share() const { return unit.empty(); }
};

/// All activities in schemas/metrics.toml, sorted by name.
const std::vector<SampledActivity>& activities();

/// The activity of that name; nullptr if there is none.
const SampledActivity* activity_of(std::string_view name);

/// Which part of the activity a metric is: 0, 1, ...; -1 if none. A DCGM field is the whole
/// activity.
int part_of(const SampledActivity& activity, std::string_view metric);

/// Whether `wanted`, an activity's name or a glob, matches the metric called `metric`.
bool is_metric(std::string_view wanted, std::string_view metric);

}  // namespace gh
