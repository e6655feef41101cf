// The jobs submitted: an array of tasks that digest, and one job that brings digests together.
#include <fmt/format.h>

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
      "{}: job{} {} is still at work; see `gh-advise slurm {} --status`, or cancel it with scancel",
      printable(work.string()), before.arrays.empty() ? "" : " " + before.arrays.front().id + " or",
      before.merge, printable(o.folder.string())));
}

void make_folders(const fs::path& work) {
  for (const char* folder : {"digests", "errors", "logs"}) {
    std::error_code ec;
    fs::create_directories(work / folder, ec);
    if (ec) {
      throw Error(fmt::format("{}: cannot be made: {}; name another working folder with --work",
                              printable((work / folder).string()), ec.message()));
    }
  }
}

// Digests of reports that are gone, or are to be digested anew, are no part of the job.
void remove_stale(const SlurmJobs& jobs, const fs::path& work) {
  std::error_code ignored;
  std::set<fs::path> wanted;
  for (const SlurmReport& r : jobs.reports) wanted.insert(digest_path(work, r.name));
  for (const SlurmReport& r : jobs.todo) {
    wanted.erase(digest_path(work, r.name));
    fs::remove(error_path(work, r.name), ignored);
  }
  std::vector<fs::path> stale;
  for (const auto& entry : fs::recursive_directory_iterator(work / "digests")) {
    if (entry.path().extension() == ".digest" && !wanted.contains(entry.path())) {
      stale.push_back(entry.path());
    }
  }
  for (const fs::path& path : stale) fs::remove(path, ignored);
}

// Returns the job's id. Where it is refused, cancels what was submitted before it and throws.
std::string submit(const std::vector<std::string>& words,
                   const std::vector<std::string>& submitted) {
  const CommandAnswer answer = run_command(words);
  // --parsable prints the id, and ";cluster" on a federation; site plugins may print lines before
  // it.
  const std::string last = last_line(answer.text), id = last.substr(0, last.find(';'));
  if (answer.status == 0 && !id.empty() && id.find_first_not_of("0123456789") == id.npos) {
    return id;
  }
  for (const std::string& other : submitted) run_command({"scancel", other});
  if (answer.status == 127) {
    throw Error(
        "sbatch cannot be run: submit from a machine of the cluster, or see what would be with "
        "--dry-run");
  }
  throw Error(fmt::format("sbatch refused: {}",
                          last.empty() ? fmt::format("exit status {}", answer.status) : last));
}

std::string submitted_text(const SlurmJobs& jobs, const std::vector<std::string>& arrays,
                           const std::string& merge, const fs::path& work) {
  const std::size_t already = jobs.reports.size() - jobs.todo.size();
  std::string text;
  if (jobs.todo.empty()) {
    text = fmt::format("all {} reports are digested already\n", already);
  } else {
    text = fmt::format("job {} digests {} report{}{}\n", fmt::join(arrays, ", "), jobs.todo.size(),
                       jobs.todo.size() == 1 ? "" : "s",
                       already > 0 ? fmt::format(", {} are done already", already) : "");
  }
  return text + fmt::format("job {} brings them together{}, in {}\n", merge,
                            arrays.empty() ? "" : " afterwards",
                            printable((work / "fleet.txt").string()));
}

}  // namespace

std::string render_slurm(const SlurmOptions& o, const SlurmJobs& jobs) {
  std::string out = fmt::format(
      "# {} report{} in {}, {} of them to be digested\n# working folder: {}\n", jobs.reports.size(),
      jobs.reports.size() == 1 ? "" : "s", printable(o.folder.string()), jobs.todo.size(),
      printable(work_folder(o).string()));
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
  check_idle(o, work);
  make_folders(work);
  remove_stale(jobs, work);
  write_reports(work / "reports", jobs.reports);
  write_reports(work / "todo", jobs.todo);
  write_file(work / "digest.sh", jobs.digest_script, "--work");
  write_file(work / "merge.sh", jobs.merge_script, "--work");
  std::error_code ignored;
  fs::remove(work / "jobs.json", ignored);  // from here on it would speak of other reports

  SubmittedJobs submitted;
  submitted.reports_per_task = jobs.per_task;
  std::vector<std::string> ids;
  for (const SlurmJobs::Array& a : jobs.arrays) {
    ids.push_back(submit(array_words(o, a), ids));
    submitted.arrays.push_back({ids.back(), a.first});
  }
  submitted.merge = submit(merge_words(o, ids), ids);
  write_jobs(work, submitted);
  return submitted_text(jobs, ids, submitted.merge, work);
}

}  // namespace gh
