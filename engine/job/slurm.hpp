// A folder of reports digested and brought together where the compute is: by Slurm, in an array job
// and one that depends on it.
//
// All of it stands in a working folder: `reports` and `todo` (paths and names, each ended by a
// NUL), `digest.sh` and `merge.sh`, `digests/` and `errors/` (by the reports' names), `logs/`,
// `jobs.json` (what was submitted), `submitting` (while somebody does) and the result, `fleet.*`.
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
  std::filesystem::path folder;  ///< of the reports
  std::filesystem::path work;    ///< "" for gh-advise/ in that folder
  std::string program;           ///< gh-advise as the nodes find it
  std::string container;         ///< an image of it, for Apptainer or Singularity; "" without one
  std::string partition;         ///< "" for the cluster's default
  /// Among which the reports are divided; 0 for one each, as far as the cluster allows.
  std::int64_t tasks = 0;
  std::vector<std::string> sbatch;            ///< further options of sbatch, for both jobs
  std::vector<std::string> digest_arguments;  ///< of `gh-advise digest`
  std::vector<std::string> fleet_arguments;   ///< of `gh-advise fleet`
  /// Folders that a container needs besides: of the configuration and its rules.
  std::vector<std::filesystem::path> binds;
  std::vector<std::string> results;  ///< formats of the result beside text, "json"
};

/// A report of the folder.
struct SlurmReport {
  std::filesystem::path path;  ///< absolute
  std::string name;            ///< its path below the folder
};

/// The jobs as they are to be submitted.
struct SlurmJobs {
  std::vector<SlurmReport> reports;  ///< all
  std::vector<SlurmReport> todo;     ///< those without a digest that is newer than they are
  std::int64_t per_task = 1;         ///< reports
  struct Array {
    std::int64_t first = 0;  ///< the number of its first task among all
    std::int64_t tasks = 0;
  };
  std::vector<Array> arrays;
  std::string digest_script, merge_script;
};

/// What there is to do. `max_array_size` is the cluster's. Nothing is written. Throws Error where
/// the folder holds no report.
SlurmJobs slurm_jobs(const SlurmOptions& options, std::int64_t max_array_size);

/// MaxArraySize of the cluster's configuration, or Slurm's own default where it does not answer.
std::int64_t slurm_max_array_size();

/// The scripts, and the commands that submit them, as a person reads them.
std::string render_slurm(const SlurmOptions& options, const SlurmJobs& jobs);

/// Writes the working folder and submits. Returns what was submitted, for people. Throws Error
/// where an earlier submission is still at work, or may be, or sbatch refuses; then nothing stays
/// submitted.
std::string submit_slurm(const SlurmOptions& options, const SlurmJobs& jobs);

/// Neither Slurm's queue nor its accounting says what became of jobs.
struct QueueSilent : Error {
  QueueSilent() : Error("the queue does not answer; try again") {}
};

/// How far it is.
struct SlurmStatus {
  std::size_t reports = 0, done = 0, running = 0, waiting = 0;
  std::vector<std::pair<std::string, std::string>> failed;  ///< report and its error
  bool busy = false;                                        ///< a job is still in the queue
  std::string result;  ///< the path of its text, "" where there is none newer than the digests
  /// Why all digests are there and yet no result; "" where there is one, or it may still come.
  std::string not_merged;
};

/// From the digests, and from Slurm's queue or accounting. Throws Error where nothing was ever
/// submitted there, QueueSilent where neither answers.
SlurmStatus slurm_status(const SlurmOptions& options);

/// For people.
std::string render_slurm_status(const SlurmStatus& status);

/// A word for a POSIX shell, quoted where it needs to be.
std::string shell_word(const std::string& word);

}  // namespace gh
