// Reads what DCGM sampled beside a recording: the text of `dcgmi dmon`, or dcgm-exporter's metrics
// in Prometheus' text format.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// Adds DCGM's samples of the trace's GPUs (schemas/metrics.toml: activities, the SMs' clock, power
/// and its limit) to trace.samples where they have times and the report says what time it is;
/// otherwise their means to trace.monitor. A report with GPU metrics of its own keeps to those, and
/// takes what it lacks, such as power. GPUs are told by their
/// index. Returns notes for the user about what was left out: GPUs that the report does not have,
/// values that cannot be, rows that no one can read. Throws Error where the file cannot be read, is
/// neither format, or holds nothing to use.
std::vector<std::string> add_dcgm(Trace& trace, const std::filesystem::path& path);

}  // namespace gh
