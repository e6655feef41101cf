// The working folder: where each file in it is (slurm.hpp lists them).
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "job/slurm.hpp"

namespace gh {

std::filesystem::path work_folder(const SlurmOptions& options);
std::filesystem::path digest_path(const std::filesystem::path& work, const std::string& report);
/// Its first line is the node, the rest the program's message.
std::filesystem::path error_path(const std::filesystem::path& work, const std::string& report);

/// False if either is missing.
bool is_newer(const std::filesystem::path& path, const std::filesystem::path& than);

/// Creates it and the folders in it. Throws Error if that fails, or if others can write there,
/// because they could choose what the jobs run.
void make_work_folder(const std::filesystem::path& work);

/// Prevents two submissions from the same folder at once, which would do everything twice. Throws
/// Error if another one is running.
class SubmissionLock {
 public:
  explicit SubmissionLock(const std::filesystem::path& work);
  ~SubmissionLock();
  SubmissionLock(const SubmissionLock&) = delete;
  SubmissionLock& operator=(const SubmissionLock&) = delete;

 private:
  std::filesystem::path path_;
};

/// `reports` and `todo`.
void write_reports(const std::filesystem::path& list, const std::vector<SlurmReport>& reports);
std::vector<SlurmReport> read_reports(const std::filesystem::path& list);

/// `jobs.json`: what was submitted.
struct SubmittedJobs {
  struct Array {
    std::string id;
    std::int64_t first = 0;  ///< the number of its first task, counted over all arrays
  };
  std::vector<Array> arrays;
  std::string merge;  ///< the id of the job that combines digests
  std::int64_t reports_per_task = 1;
};
void write_jobs(const std::filesystem::path& work, const SubmittedJobs& jobs);
/// Throws Error if nothing was submitted from there.
SubmittedJobs read_jobs(const std::filesystem::path& work);

}  // namespace gh
