// The working folder: what stands where in it (slurm.hpp names all of it).
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "job/slurm.hpp"

namespace gh {

std::filesystem::path work_folder(const SlurmOptions& options);
std::filesystem::path digest_path(const std::filesystem::path& work, const std::string& report);
/// Its first line is the node, the rest what the program said.
std::filesystem::path error_path(const std::filesystem::path& work, const std::string& report);

/// False where either is missing.
bool is_newer(const std::filesystem::path& path, const std::filesystem::path& than);

/// Makes it and the folders in it. Throws Error where that cannot be done, or where others can
/// write: they would choose what the jobs run.
void make_work_folder(const std::filesystem::path& work);

/// That nobody else submits from the folder meanwhile: two submissions would do everything twice.
/// Throws Error where somebody does.
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
    std::int64_t first = 0;  ///< the number of its first task among all
  };
  std::vector<Array> arrays;
  std::string merge;  ///< the id of the job that brings digests together
  std::int64_t reports_per_task = 1;
};
void write_jobs(const std::filesystem::path& work, const SubmittedJobs& jobs);
/// Throws Error where nothing was submitted from there.
SubmittedJobs read_jobs(const std::filesystem::path& work);

}  // namespace gh
