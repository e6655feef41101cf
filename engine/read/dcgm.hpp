// Reads what DCGM sampled during a recording: the output of `dcgmi dmon`, or dcgm-exporter's
// metrics in Prometheus' text format.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Adds DCGM's samples of the trace's GPUs (schemas/metrics.toml: activities, SM clock, power,
/// power limit). They go to trace.samples if they have times and the report contains the time of
/// day; otherwise only their means go to trace.monitor. If the report has GPU metrics of its own,
/// only those that it lacks are added, such as power. GPUs are matched by index. Returns notes for
/// the user about what was skipped: GPUs that the report does not contain, impossible values,
/// unreadable rows. Throws Error if the file cannot be read, has neither format, or contains
/// nothing to use.
std::vector<std::string> add_dcgm(Trace& trace, const std::filesystem::path& path);

}  // namespace gh
