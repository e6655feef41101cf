// The small file next to a recording that says how long a step takes without the profiler.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/spans.hpp"

namespace gh {

/// The contents of NAME.measured.json (schemas/measured.schema.json).
struct Measured {
  std::string unit = "step";  ///< what was measured
  Ns ns = 0;                  ///< duration of one
  std::int64_t samples = 0;   ///< how many samples the mean is over; 0 if unknown
  Ns recorded_ns = 0;         ///< the mean of the same in the recording; 0 if unknown
};

/// The file that belongs to a report: run.measured.json next to run.sqlite, run.nsys-rep, run.json
/// or run.json.gz.
std::filesystem::path measured_path(const std::filesystem::path& report);

/// Reads the file next to a report. Nothing if there is none; throws Error if it cannot be used.
std::optional<Measured> measured_beside(const std::filesystem::path& report);

/// Writes the file next to a report. Throws Error if it cannot be written.
void write_measured_beside(const std::filesystem::path& report, const Measured& measured);

/// Whether a file has the name of such a file, and so is not a report.
bool is_measured_path(const std::filesystem::path& path);

}  // namespace gh
