// Digests and combines a folder of reports on the cluster, with Slurm: in an array job and a job
// that depends on it.
//
// Everything is in a working folder: `reports` and `todo` (paths and names, each terminated by a
// NUL), `digest.sh` and `merge.sh`, `digests/` and `errors/` (by report name), `logs/`, `jobs.json`
// (what was submitted), `submitting` (while a submission is running) and the result, `fleet.*`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace gh {

struct SlurmOptions {
  std::filesystem::path folder;  ///< with the reports
  std::filesystem::path work;    ///< "" for gh-advise/ in that folder
  std::string program;           ///< gh-advise, as the nodes find it
  std::string container;         ///< an image of it, for Apptainer or Singularity; "" for none
  std::string partition;         ///< "" for the cluster's default
  /// The number of tasks that share the reports; 0 for one per report, as far as the cluster
  /// allows.
  std::int64_t tasks = 0;
  std::vector<std::string> sbatch;            ///< more options of sbatch, for both jobs
  std::vector<std::string> digest_arguments;  ///< for `gh-advise digest`
  std::vector<std::string> fleet_arguments;   ///< for `gh-advise fleet`
  /// Further folders that a container needs: those of the configuration and its rules.
  std::vector<std::filesystem::path> binds;
  std::vector<std::string> results;  ///< formats of the result besides text, such as "json"
};

/// A report in the folder.
struct SlurmReport {
  std::filesystem::path path;  ///< absolute
  std::string name;            ///< its path below the folder
};

/// The jobs to submit.
struct SlurmJobs {
  std::vector<SlurmReport> reports;  ///< all
  std::vector<SlurmReport> todo;     ///< those without a digest newer than the report
  std::int64_t per_task = 1;         ///< reports
  struct Array {
    std::int64_t first = 0;  ///< the number of its first task, counted over all arrays
    std::int64_t tasks = 0;
  };
  std::vector<Array> arrays;
  std::string digest_script, merge_script;
};

/// Finds out what there is to do. `max_array_size` is the cluster's limit. Writes nothing. Throws
/// Error if the folder contains no report.
SlurmJobs slurm_jobs(const SlurmOptions& options, std::int64_t max_array_size);

/// MaxArraySize from the cluster's configuration, or Slurm's default if the cluster does not
/// answer.
std::int64_t slurm_max_array_size();

/// The scripts, and the commands that submit them, for people to read.
std::string render_slurm(const SlurmOptions& options, const SlurmJobs& jobs);

/// Writes the working folder and submits. Returns a summary of what was submitted. Throws Error if
/// an earlier submission is or may still be running, or if sbatch refuses; then nothing stays
/// submitted.
std::string submit_slurm(const SlurmOptions& options, const SlurmJobs& jobs);

/// Neither Slurm's queue nor its accounting knows the state of the jobs.
struct QueueSilent : Error {
  QueueSilent() : Error("the queue does not answer; try again") {}
};

/// The progress of a submission.
struct SlurmStatus {
  std::size_t reports = 0, done = 0, running = 0, waiting = 0;
  std::vector<std::pair<std::string, std::string>> failed;  ///< report and its error
  bool busy = false;                                        ///< a job is still in the queue
  std::string result;  ///< the path of its text, "" if there is none newer than the digests
  /// Why there is no result although all digests are there; "" if there is one or it may still
  /// come.
  std::string not_merged;
};

/// Derived from the digests, and from Slurm's queue or accounting. Throws Error if nothing was ever
/// submitted there, QueueSilent if neither answers.
SlurmStatus slurm_status(const SlurmOptions& options);

/// The status as text.
std::string render_slurm_status(const SlurmStatus& status);

}  // namespace gh
