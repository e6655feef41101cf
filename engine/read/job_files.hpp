// Finds out which files are the ranks of one job.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// What a file says about its place in a job, without reading all of it.
struct Place {
  std::string job;  ///< "" if unknown
  std::int64_t rank = 0;
  std::int64_t world_size = 0;     ///< 0 if unknown
  std::optional<double> begins_s;  ///< since 1970
  bool by_name = false;            ///< found by its name, not its contents
};
Place place_of(const std::string& path);

/// Groups files by job, in the order given. Ranks of a job are in one folder. They are either
/// PyTorch traces whose distributedInfo has the same world size, different ranks, and starts within
/// a minute; or files whose names differ only in the number after "rank". Any other file is a job
/// on its own, and so is an unreadable one, which will fail later with a message.
std::vector<std::vector<std::string>> find_jobs(const std::vector<std::string>& paths);

}  // namespace gh
