// Which files are reports, and which of them are the ranks of one job.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// Replaces each folder by the reports in it and below it, sorted by name; files stay as they are.
/// Reports are *.sqlite, *.nsys-rep and *.qdrep without such an export, and *.json and *.json.gz
/// that are PyTorch traces. Hidden files and folders, links to folders, and the kernel's own file
/// systems (/proc, /sys) are left out. Throws Error for a folder without a report, or with more
/// than a run can take.
std::vector<std::string> find_reports(const std::vector<std::string>& paths);

/// Those of a folder and below it, sorted, but for those below `except`. Throws Error if they are
/// more than `most`.
std::vector<std::string> reports_below(const std::string& folder, std::size_t most,
                                       const std::filesystem::path& except = {});

/// What a file says of its place in a job, without reading all of it.
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
