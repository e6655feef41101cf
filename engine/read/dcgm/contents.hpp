// Parses what DCGM wrote: the output of `dcgmi dmon`, or dcgm-exporter's metrics in Prometheus'
// text format.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/spans.hpp"
#include "trace/metric_names.hpp"

namespace gh::dcgm {

struct Sample {
  int gpu = 0;
  const SampledActivity* activity = nullptr;
  double value = 0;        ///< a share, or in the activity's unit
  std::optional<Ns> time;  ///< since 1970
};

/// What was read from a file, and how much was skipped.
struct Contents {
  std::vector<Sample> samples;
  std::set<std::string> hosts;
  std::int64_t impossible = 0;    ///< values that are impossible for their field
  std::int64_t unread = 0;        ///< lines that cannot be read
  std::int64_t first_unread = 0;  ///< the first of them
  std::int64_t instances = 0;     ///< rows of MIG instances
};

/// Throws Error if the file cannot be read, has neither format, or contains nothing to use. `shown`
/// is its path in messages.
Contents read_contents(const std::filesystem::path& path, const std::string& shown);

}  // namespace gh::dcgm
