// Which files are reports, and which of them are the ranks of one job.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// Replaces each folder by the reports in it and below it, sorted by name; files stay as they are.
/// Reports are *.sqlite, *.nsys-rep and *.qdrep without such an export, and *.json and *.json.gz
/// that are PyTorch traces. Hidden files and folders, and links to folders, are left out. Throws
/// Error for a folder without a report, or with more than a run can take.
std::vector<std::string> find_reports(const std::vector<std::string>& paths);

/// What a file says of its place in a job, without reading all of it.
struct Place {
  std::string job;  ///< "" where it says nothing
  std::int64_t rank = 0;
  std::int64_t world_size = 0;     ///< 0 where it says nothing
  std::optional<double> begins_s;  ///< since 1970
  bool by_name = false;            ///< rather than by what the file says itself
};
Place place_of(const std::string& path);

/// Groups files by the job that they belong to, in the order given. Ranks of one job lie in one
/// folder and are either PyTorch traces whose distributedInfo has the same world size, other ranks,
/// and begins within a minute, or files whose names differ in the number after "rank" only. Any
/// other file is a job of its own; so is one that cannot be read, which reading it will say.
std::vector<std::vector<std::string>> find_jobs(const std::vector<std::string>& paths);

}  // namespace gh
