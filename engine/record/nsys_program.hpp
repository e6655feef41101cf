// Nsight Systems' command line program: where it is, and what to call it with.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/spans.hpp"

namespace gh {

/// What to record besides kernels, copies, calls and ranges.
struct RecordedToo {
  bool metrics = false;  ///< how busy SMs, tensor cores and memory are
  bool stacks = false;   ///< source lines of calls, and samples of what the host runs
  bool memory = false;   ///< allocations
  bool layers = false;   ///< modules and operators of PyTorch, which the hooks mark
};

/// When to record.
struct RecordedTime {
  bool by_program = true;          ///< the program starts and ends it (cudaProfilerStart)
  Ns delay_ns = 0, length_ns = 0;  ///< otherwise, from the program's start on
};

/// `given` if it is not just "nsys"; otherwise nsys on the PATH, or where CUDA, Nsight Systems and
/// Nsight Compute put it, the newest. Nothing if there is none. Throws Error if `given` cannot be
/// run.
std::optional<std::filesystem::path> find_nsys(const std::string& given);

/// The command that records `program` into `report` (without .nsys-rep).
std::vector<std::string> nsys_profile(const std::filesystem::path& nsys,
                                      const std::filesystem::path& report, const RecordedTime& time,
                                      const RecordedToo& too,
                                      const std::vector<std::string>& program);

/// The recording that nsys left next to `report`, as .sqlite. Throws Error if there is none, or if
/// it cannot be exported.
std::filesystem::path nsys_export(const std::filesystem::path& nsys,
                                  const std::filesystem::path& report);

}  // namespace gh
