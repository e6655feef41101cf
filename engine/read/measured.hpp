// The small file beside a recording that tells how long a step takes without the profiler.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/spans.hpp"

namespace gh {

/// What NAME.measured.json says (schemas/measured.schema.json).
struct Measured {
  std::string unit = "step";  ///< what was measured
  Ns ns = 0;                  ///< how long one takes
  std::int64_t samples = 0;   ///< of how many that is the mean, 0 where it does not say
};

/// The file that belongs to a report: run.measured.json beside run.sqlite, run.nsys-rep, run.json
/// and run.json.gz.
std::filesystem::path measured_path(const std::filesystem::path& report);

/// What lies beside a report. Nothing where nothing does; throws Error where it cannot be used.
std::optional<Measured> measured_beside(const std::filesystem::path& report);

/// Whether a file is called as these are, and so is no report itself.
bool is_measured_path(const std::filesystem::path& path);

}  // namespace gh
