// Finds the progress, from the digests that exist and from what Slurm says about the others.
#include <fmt/format.h>

#include <cstdlib>

#include "base/files.hpp"
#include "job/slurm.hpp"
#include "job/slurm_commands.hpp"
#include "job/slurm_queue.hpp"
#include "job/slurm_work.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// Whether this process runs in the job that combines digests. That job begins after the arrays have
// ended, and in a container it cannot ask the queue.
bool is_merge(const SubmittedJobs& jobs) {
  const char* own = std::getenv("SLURM_JOB_ID");
  return own && jobs.merge == own;
}

std::map<std::int64_t, TaskState> states_of(const std::string& id, bool merging) {
  try {
    return task_states(id);
  } catch (const QueueSilent&) {
    if (!merging) throw;
    return {};
  }
}

// By report; sets `busy` if a job is still in the queue.
std::map<std::string, TaskState> report_states(const SubmittedJobs& jobs,
                                               const std::vector<SlurmReport>& todo, bool merging,
                                               bool& busy) {
  const auto reports = static_cast<std::int64_t>(todo.size());
  std::map<std::string, TaskState> states;
  for (const SubmittedJobs::Array& a : jobs.arrays) {
    for (const auto& [task, state] : states_of(a.id, merging)) {
      busy = busy || is_waiting(state) || is_running(state);
      if (task < 0) continue;
      const std::int64_t first = (task + a.first) * jobs.reports_per_task;
      for (std::int64_t i = first; i < first + jobs.reports_per_task && i < reports; ++i) {
        states[todo[static_cast<std::size_t>(i)].name] = state;
      }
    }
  }
  for (const auto& [task, state] : states_of(jobs.merge, merging)) {
    busy = busy || is_waiting(state) || is_running(state);
  }
  return states;
}

// Removes the program's name from an error, because we are the same program.
std::string without_program(std::string said) {
  constexpr std::string_view program = "gh-advise: ";
  if (said.starts_with(program)) said.erase(0, program.size());
  return said;
}

// Why a report has no digest although its task has ended: what the program said, or else what Slurm
// says.
std::string failure_of(const SlurmReport& r, const TaskState& task, const fs::path& work) {
  std::string node = task.node, said;
  if (std::error_code ec; fs::exists(error_path(work, r.name), ec)) {
    const std::string text = read_text(error_path(work, r.name));
    const std::size_t line = std::min(text.find('\n'), text.size());
    node = printable(text.substr(0, line));
    said = without_program(last_line(text.substr(std::min(line + 1, text.size())), most_said));
  }
  const bool told_by_slurm = !task.state.empty() && task.state != "COMPLETED";
  if (said.empty()) {
    said = told_by_slurm ? fmt::format("its task ended with state {}", task.state)
                         : "its task produced neither a digest nor an error; see logs/";
  } else if (told_by_slurm && task.state != "FAILED") {
    said += fmt::format(" ({})", task.state);
  }
  return node.empty() ? said : said + fmt::format(", on {}", node);
}

std::string why_not_merged(const SubmittedJobs& jobs, const fs::path& work) {
  const fs::path log = work / "logs" / fmt::format("fleet-{}.log", jobs.merge);
  std::error_code ec;
  const std::string said =
      fs::exists(log, ec) ? without_program(last_line(read_text(log), most_said)) : "";
  return said.empty() ? fmt::format("no error in {}", printable(log.string())) : said;
}

}  // namespace

SlurmStatus slurm_status(const SlurmOptions& o) {
  const fs::path work = work_folder(o), result = work / "fleet.txt";
  const SubmittedJobs jobs = read_jobs(work);
  const std::vector<SlurmReport> reports = read_reports(work / "reports"),
                                 todo = read_reports(work / "todo");
  SlurmStatus status;
  status.reports = reports.size();
  const bool merging = is_merge(jobs);
  status.busy = merging;
  std::map<std::string, TaskState> states = report_states(jobs, todo, merging, status.busy);

  bool result_is_newer = true;
  for (const SlurmReport& r : reports) {
    const fs::path digest = digest_path(work, r.name);
    const TaskState& task = states[r.name];
    if (is_newer(digest, r.path)) {
      ++status.done;
      result_is_newer = result_is_newer && is_newer(result, digest);
    } else if (is_waiting(task)) {
      ++status.waiting;
    } else if (is_running(task)) {
      ++status.running;
    } else {
      status.failed.emplace_back(printable(r.name), failure_of(r, task, work));
    }
  }

  std::error_code ec;
  if (status.done > 0 && result_is_newer && fs::exists(result, ec)) {
    status.result = printable(result.string());
  } else if (!status.busy && status.done == status.reports) {
    status.not_merged = why_not_merged(jobs, work);
  }
  return status;
}

std::string render_slurm_status(const SlurmStatus& s) {
  std::string out = fmt::format("{} of {} reports digested", s.done, s.reports);
  if (s.running > 0) out += fmt::format(", {} running", s.running);
  if (s.waiting > 0) out += fmt::format(", {} waiting", s.waiting);
  if (!s.failed.empty()) out += fmt::format(", {} failed", s.failed.size());
  out += '\n';
  for (const auto& [report, error] : s.failed) {
    out += fmt::format("failed: {}: {}\n", report, error);
  }
  if (!s.failed.empty()) out += "run `gh-advise slurm` again to retry only these\n";
  if (!s.not_merged.empty()) {
    out += fmt::format("combining them failed: {}\n", s.not_merged);
  }
  if (!s.result.empty()) out += fmt::format("result: {}\n", s.result);
  return out;
}

}  // namespace gh
