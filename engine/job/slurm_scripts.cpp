// Finds the reports to process, and writes the scripts that digest and combine them.
#include <fmt/format.h>

#include <algorithm>

#include "base/templates.hpp"
#include "base/text.hpp"
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
  return filled("slurm_digest.sh", {{"program", program_function(o)},
                                    {"per_task", std::to_string(per_task)},
                                    {"arguments", words_text(o.digest_arguments)}});
}

std::string merge_script(const SlurmOptions& o) {
  std::string results;
  for (const std::string& format : o.results) {
    results += fmt::format(" --output {0}=\"$PWD/fleet.{0}\"", format);
  }
  return filled("slurm_merge.sh", {{"program", program_function(o)},
                                   {"folder", shell_word(fs::canonical(o.folder).string())},
                                   {"results", results},
                                   {"arguments", words_text(o.fleet_arguments)}});
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
