// What sampled GPU metrics are called by each tool that samples them (schemas/metrics.toml).
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// An activity of a GPU that is sampled under a name of its own by every tool.
struct SampledActivity {
  std::string name;  ///< ours: sm_active, sm_occupancy, tensor_active, dram_active, dram_read,
                     ///< sm_clock, power, power_limit
  /// Globs over names of metrics; a metric that one list matches is one part of the activity.
  std::vector<std::vector<std::string>> parts;
  std::string dcgm_field, dcgm_column;  ///< "" where DCGM has none
  std::string unit;  ///< "W", "MHz"; "" of a share, which reports hold in percent
  double most = 1;   ///< what no value exceeds, in that unit; of a share, 1
  bool is_share() const { return unit.empty(); }
};

/// All that schemas/metrics.toml lists, in order of name.
const std::vector<SampledActivity>& activities();

/// The one of that name; nullptr where there is none.
const SampledActivity* activity_of(std::string_view name);

/// Which part of the activity a metric is: 0, 1, ...; -1 of none. A field of DCGM is all of it.
int part_of(const SampledActivity& activity, std::string_view metric);

/// Whether `wanted`, an activity's name or a glob, means the metric that is called `metric`.
bool is_metric(std::string_view wanted, std::string_view metric);

}  // namespace gh
