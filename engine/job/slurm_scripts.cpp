// Finds the reports to process, and writes the scripts that digest and combine them.
#include <fmt/format.h>

#include <algorithm>

#include "job/digest.hpp"
#include "job/slurm.hpp"
#include "job/slurm_commands.hpp"
#include "job/slurm_work.hpp"
#include "read/job_files.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// ---- the reports

constexpr std::size_t most_reports = 1'000'000;  // one a rank, and more than any job has

std::vector<SlurmReport> reports_in(const fs::path& folder, const fs::path& work) {
  std::error_code ec;
  const fs::path top = fs::canonical(folder, ec);
  if (ec || !fs::is_directory(top)) {
    throw Error(fmt::format("{}: is not a folder", printable(folder.string())));
  }
  std::vector<SlurmReport> reports;
  for (const std::string& path : reports_below(top.string(), most_reports, work)) {
    reports.push_back({path, fs::path(path).lexically_relative(top).string()});
  }
  if (reports.empty()) {
    throw Error(fmt::format("{}: contains no report (*.sqlite, *.nsys-rep, PyTorch traces)",
                            printable(folder.string())));
  }
  return reports;
}

bool is_digested(const SlurmReport& r, const fs::path& work) {
  const fs::path digest = digest_path(work, r.name);
  if (!is_newer(digest, r.path)) return false;
  try {
    read_digest(digest);
    return true;
  } catch (const Error&) {
    return false;  // from another version, or damaged
  }
}

// Divides the work among tasks, and the tasks among as many arrays as the cluster needs.
void divide(std::int64_t wanted_tasks, std::int64_t max_array_size, SlurmJobs& jobs) {
  const auto n = static_cast<std::int64_t>(jobs.todo.size());
  if (n == 0) return;
  const std::int64_t most = std::min(n, wanted_tasks > 0 ? wanted_tasks : max_array_size);
  jobs.per_task = (n + most - 1) / most;
  const std::int64_t tasks = (n + jobs.per_task - 1) / jobs.per_task;
  for (std::int64_t first = 0; first < tasks; first += max_array_size) {
    jobs.arrays.push_back({first, std::min(max_array_size, tasks - first)});
  }
}

// ---- the scripts

// The folders that a container must be able to see.
std::vector<fs::path> bound_folders(const SlurmOptions& o) {
  std::vector<fs::path> paths{fs::weakly_canonical(o.folder), work_folder(o)};
  paths.insert(paths.end(), o.binds.begin(), o.binds.end());
  return paths;
}

void check_bound_folders(const SlurmOptions& o) {
  for (const fs::path& path : bound_folders(o)) {
    if (path.string().find_first_of(",:") != std::string::npos) {
      throw Error(
          fmt::format("{}: contains a comma or a colon, which Apptainer's --bind does not accept; "
                      "move it, or choose another folder with --work",
                      printable(path.string())));
    }
  }
}

// How the scripts call the program: through a shell function, so that quoting happens in one place.
std::string program_function(const SlurmOptions& o) {
  if (o.container.empty()) {
    return fmt::format("gh_advise() {{ {} \"$@\"; }}\n", shell_word(o.program));
  }
  std::string binds;
  for (const fs::path& path : bound_folders(o)) binds += " --bind " + shell_word(path.string());
  return fmt::format(
      "runtime=$(command -v apptainer || command -v singularity) || {{ echo 'neither apptainer nor "
      "singularity is on the PATH' >&2; exit 1; }}\n"
      "gh_advise() {{ \"$runtime\" exec{} {} {} \"$@\"; }}\n",
      binds, shell_word(o.container), shell_word(o.program));
}

std::string digest_script(const SlurmOptions& o, std::int64_t per_task) {
  return fmt::format(R"(#!/bin/bash
#SBATCH --job-name=gh-advise-digest
#SBATCH --output=logs/digest-%A-%a.log
#SBATCH --requeue
# Digests this task's {1} of the reports listed in `todo`. The first argument is the number of the array's first task.
set -u
{0}mapfile -d '' -t todo < todo
first=$(( (SLURM_ARRAY_TASK_ID + ${{1:-0}}) * {1} )) failed=0
for (( i = first; i < first + {1} && 2 * i < ${{#todo[@]}}; ++i )); do
  report=${{todo[2*i]}} digest=digests/${{todo[2*i+1]}}.digest error=errors/${{todo[2*i+1]}}.err
  [ "$digest" -nt "$report" ] && continue  # this task already ran on a node that died
  mkdir -p "${{digest%/*}}" "${{error%/*}}"
  rm -f "$error"
  set -o noclobber  # create the file ourselves instead of following a link
  {{ printf '%s\n' "${{SLURMD_NODENAME:-$HOSTNAME}}" >&2; gh_advise digest "$report" --output "$PWD/$digest"{2}; }} </dev/null 2> "$error"
  status=$?
  set +o noclobber
  if [ $status -eq 0 ]; then rm -f "$error"; else cat "$error" >&2; failed=1; fi
done
exit $failed
)",
                     program_function(o), per_task, words_text(o.digest_arguments));
}

std::string merge_script(const SlurmOptions& o) {
  std::string results;
  for (const std::string& format : o.results) {
    results += fmt::format(" --output {0}=\"$PWD/fleet.{0}\"", format);
  }
  return fmt::format(R"(#!/bin/bash
#SBATCH --job-name=gh-advise-fleet
#SBATCH --output=logs/fleet-%j.log
#SBATCH --requeue
# Combines what could be digested, and lists what could not.
set -u
# This may start before jobs.json is written, or visible on this node.
for (( tries = 0; tries < 300; ++tries )); do
  [ -z "${{SLURM_JOB_ID:-}}" ] || grep -qs "\"merge\": \"$SLURM_JOB_ID\"" jobs.json && break
  sleep 1
done
{0}gh_advise slurm {1} --work "$PWD" --status; failed=$?
gh_advise fleet "$PWD/digests" --work "$PWD" --output text="$PWD/fleet.txt"{2}{3} || failed=$?
exit $failed
)",
                     program_function(o), shell_word(fs::canonical(o.folder).string()), results,
                     words_text(o.fleet_arguments));
}

}  // namespace

SlurmJobs slurm_jobs(const SlurmOptions& o, std::int64_t max_array_size) {
  const fs::path work = work_folder(o);
  if (o.tasks < 0) throw Error("--ntasks: give a number of tasks, at least 1");
  if (!o.container.empty()) check_bound_folders(o);
  SlurmJobs jobs;
  jobs.reports = reports_in(o.folder, work);
  for (const SlurmReport& r : jobs.reports) {
    if (!is_digested(r, work)) jobs.todo.push_back(r);
  }
  divide(o.tasks, max_array_size, jobs);
  jobs.digest_script = digest_script(o, jobs.per_task);
  jobs.merge_script = merge_script(o);
  return jobs;
}

}  // namespace gh
