// Submits the jobs: an array of tasks that digest, and one job that combines digests.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/files.hpp"
#include "job/slurm.hpp"
#include "job/slurm_commands.hpp"
#include "job/slurm_queue.hpp"
#include "job/slurm_work.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// ---- the commands

std::vector<std::string> sbatch_words(const SlurmOptions& o, const std::vector<std::string>& own,
                                      const std::vector<std::string>& script) {
  std::vector<std::string> words{"sbatch", "--parsable", "--chdir=" + work_folder(o).string()};
  if (!o.partition.empty()) words.push_back("--partition=" + o.partition);
  words.insert(words.end(), own.begin(), own.end());
  words.insert(words.end(), o.sbatch.begin(), o.sbatch.end());
  words.insert(words.end(), script.begin(), script.end());
  return words;
}

std::vector<std::string> array_words(const SlurmOptions& o, const SlurmJobs::Array& a) {
  return sbatch_words(o, {fmt::format("--array=0-{}", a.tasks - 1)},
                      {(work_folder(o) / "digest.sh").string(), std::to_string(a.first)});
}

std::vector<std::string> merge_words(const SlurmOptions& o,
                                     const std::vector<std::string>& arrays) {
  std::vector<std::string> after;
  if (!arrays.empty()) {
    after.push_back(fmt::format("--dependency=afterany:{}", fmt::join(arrays, ":")));
  }
  return sbatch_words(o, after, {(work_folder(o) / "merge.sh").string()});
}

// ---- submitting

bool is_busy(const SubmittedJobs& jobs) {
  std::vector<std::string> ids;
  for (const SubmittedJobs::Array& a : jobs.arrays) ids.push_back(a.id);
  if (!jobs.merge.empty()) ids.push_back(jobs.merge);
  for (const std::string& id : ids) {
    for (const auto& [task, state] : task_states(id)) {
      if (is_waiting(state) || is_running(state)) return true;
    }
  }
  return false;
}

void check_idle(const SlurmOptions& o, const fs::path& work) {
  if (std::error_code ec; !fs::exists(work / "jobs.json", ec)) return;
  const SubmittedJobs before = read_jobs(work);
  if (!is_busy(before)) return;
  throw Error(fmt::format(
      "{}: job{} {} is still running; see `gh-advise slurm {} --status`, or cancel it with scancel",
      printable(work.string()), before.arrays.empty() ? "" : " " + before.arrays.front().id + " or",
      before.merge, printable(o.folder.string())));
}

// ---- older digests

// Whether we may have written it: digests are compressed with gzip. A damaged one counts as ours.
bool may_be_ours(const fs::path& path) {
  std::error_code ec;
  if (!fs::is_regular_file(fs::symlink_status(path, ec))) return false;
  std::ifstream file(path, std::ios::binary);
  char magic[2] = {};
  return file.read(magic, sizeof magic) && magic[0] == '\x1f' && magic[1] == '\x8b';
}

// The reports that an earlier submission from here listed. Throws Error if they belong to another
// folder, because its digests would be mistaken for this one's.
std::vector<SlurmReport> reports_of_before(const SlurmOptions& o, const fs::path& work) {
  if (std::error_code ec; !fs::exists(work / "reports", ec)) return {};
  const fs::path top = fs::canonical(o.folder);
  const bool inside = std::mismatch(top.begin(), top.end(), work.begin(), work.end()).first ==
                      top.end();  // even if the folder was moved
  std::vector<SlurmReport> reports = read_reports(work / "reports");
  for (const SlurmReport& r : reports) {
    if (!inside && r.path != top / r.name) {
      throw Error(fmt::format(
          "{}: is the working folder of other reports, such as {}; choose another with --work",
          printable(work.string()), printable(r.path.string())));
    }
  }
  return reports;
}

// Digests of reports that are gone, or will be digested again, are not part of the job. Files that
// we did not create are not ours to remove, but would be combined with the rest, so throw Error if
// there is one.
void remove_stale(const SlurmOptions& o, const SlurmJobs& jobs, const fs::path& work) {
  std::set<fs::path> current, stale;
  for (const SlurmReport& r : reports_of_before(o, work)) stale.insert(digest_path(work, r.name));
  for (const SlurmReport& r : jobs.reports) current.insert(digest_path(work, r.name));
  for (const fs::path& path : current) stale.erase(path);
  for (const SlurmReport& r : jobs.todo) stale.insert(digest_path(work, r.name));

  std::vector<fs::path> removed;
  for (const auto& entry : fs::recursive_directory_iterator(work / "digests")) {
    const fs::path& path = entry.path();
    if (path.extension() != ".digest" || entry.is_directory()) continue;
    const bool known = current.contains(path) || stale.contains(path);
    if (!known || !may_be_ours(path)) {
      throw Error(
          fmt::format("{}: was not created by gh-advise slurm, but would be combined with the "
                      "digests; move it away, or choose another folder with --work",
                      printable(path.string())));
    }
    if (stale.contains(path)) removed.push_back(path);
  }
  std::error_code ignored;
  for (const fs::path& path : removed) fs::remove(path, ignored);
  for (const SlurmReport& r : jobs.todo) fs::remove(error_path(work, r.name), ignored);
}

// ---- the jobs

void cancel(const std::vector<std::string>& ids) {
  for (const std::string& id : ids) run_command({"scancel", id});
}

// Returns the job's id. If it is refused, cancels what was submitted before and throws.
std::string submit(const std::vector<std::string>& words,
                   const std::vector<std::string>& submitted) {
  const CommandAnswer answer = run_command(words);
  // --parsable prints the id, followed by ";cluster" on a federation; site plugins may print lines
  // before it.
  const std::string last = last_line(answer.text, most_said), id = last.substr(0, last.find(';'));
  if (answer.status == 0 && !id.empty() && id.find_first_not_of("0123456789") == id.npos) {
    return id;
  }
  cancel(submitted);
  if (answer.status == 127) {
    throw Error(
        "sbatch cannot be run; submit from a machine of the cluster, or use --dry-run to see what "
        "would be submitted");
  }
  throw Error(fmt::format("sbatch refused: {}",
                          last.empty() ? fmt::format("exit status {}", answer.status) : last));
}

std::string submitted_text(const SlurmJobs& jobs, const std::vector<std::string>& arrays,
                           const std::string& merge, const fs::path& work) {
  const std::size_t already = jobs.reports.size() - jobs.todo.size();
  std::string text;
  if (jobs.todo.empty()) {
    text = fmt::format("all {} reports are already digested\n", already);
  } else {
    text = fmt::format("job {} digests {} report{}{}\n", fmt::join(arrays, ", "), jobs.todo.size(),
                       jobs.todo.size() == 1 ? "" : "s",
                       already > 0 ? fmt::format(", {} already done", already) : "");
  }
  return text + fmt::format("job {} combines them{}, in {}\n", merge,
                            arrays.empty() ? "" : " afterwards",
                            printable((work / "fleet.txt").string()));
}

}  // namespace

std::string render_slurm(const SlurmOptions& o, const SlurmJobs& jobs) {
  std::string out =
      fmt::format("# {} report{} in {}, {} to digest\n# working folder: {}\n", jobs.reports.size(),
                  jobs.reports.size() == 1 ? "" : "s", printable(o.folder.string()),
                  jobs.todo.size(), printable(work_folder(o).string()));
  std::vector<std::string> ids;
  for (const SlurmJobs::Array& a : jobs.arrays) {
    ids.push_back(fmt::format("ARRAY{}", ids.size() + 1));
    out += fmt::format("# {}:{}\n", ids.back(), words_text(array_words(o, a)));
  }
  out += fmt::format("# then:{}\n", words_text(merge_words(o, ids)));
  if (!jobs.arrays.empty()) out += "\n# ---- digest.sh\n" + jobs.digest_script;
  return out + "\n# ---- merge.sh\n" + jobs.merge_script;
}

std::string submit_slurm(const SlurmOptions& o, const SlurmJobs& jobs) {
  const fs::path work = work_folder(o);
  make_work_folder(work);
  const SubmissionLock lock(work);
  check_idle(o, work);
  remove_stale(o, jobs, work);
  write_reports(work / "reports", jobs.reports);
  write_reports(work / "todo", jobs.todo);
  write_file(work / "digest.sh", jobs.digest_script, "--work");
  write_file(work / "merge.sh", jobs.merge_script, "--work");
  std::error_code ignored;
  fs::remove(work / "jobs.json", ignored);  // its reports are about to change

  SubmittedJobs submitted;
  submitted.reports_per_task = jobs.per_task;
  std::vector<std::string> ids;
  for (const SlurmJobs::Array& a : jobs.arrays) {
    ids.push_back(submit(array_words(o, a), ids));
    submitted.arrays.push_back({ids.back(), a.first});
  }
  submitted.merge = submit(merge_words(o, ids), ids);
  try {
    write_jobs(work, submitted);
  } catch (const Error&) {
    ids.push_back(submitted.merge);
    cancel(ids);  // without jobs.json nobody would know what they are
    throw;
  }
  return submitted_text(jobs, ids, submitted.merge, work);
}

}  // namespace gh
