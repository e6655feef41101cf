#include "job/slurm.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "base/files.hpp"
#include "base/json.hpp"
#include "job/digest.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

struct Answer {
  int status = -1;
  std::string text;
};  // status: 127 where there is no such program

// Runs a command and takes what it prints, errors included.
Answer run(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& w : words) command += shell_word(w) + ' ';
  Answer answer;
  FILE* pipe = popen((command + "2>&1 </dev/null").c_str(), "r");
  if (!pipe) return answer;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    answer.text.append(buffer, n);
  const int status = pclose(pipe);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n'))
    if (line.find_first_not_of(" \t\r") != line.npos) last = line;
  return shortened(printable(last), 300);
}

fs::path work_of(const SlurmOptions& o) {
  return fs::weakly_canonical(o.work.empty() ? o.folder / "gh-advise" : o.work);
}

bool holds_torch_trace(const fs::path& path) {
  std::string head(1 << 16, '\0');
  const gzFile file = gzopen(path.c_str(), "rb");
  if (!file) return false;
  head.resize(static_cast<std::size_t>(
      std::max(0, gzread(file, head.data(), static_cast<unsigned>(head.size())))));
  gzclose(file);
  return head.find("\"traceEvents\"") != head.npos ||
         head.find("\"deviceProperties\"") != head.npos;
}

std::vector<SlurmReport> reports_in(const fs::path& folder, const fs::path& work) {
  std::vector<SlurmReport> reports;
  std::error_code ec;
  const fs::path top = fs::canonical(folder, ec);
  if (ec || !fs::is_directory(top))
    throw Error(fmt::format("{}: is no folder", printable(folder.string())));
  for (fs::recursive_directory_iterator at(top, ec), end; !ec && at != end; at.increment(ec)) {
    std::error_code ignored;
    if (at->path() == work) {
      at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(ignored)) continue;
    const std::string name = at->path().filename().string();
    const bool exported = name.ends_with(".sqlite"),
               recorded = name.ends_with(".nsys-rep") || name.ends_with(".qdrep");
    if (recorded && fs::exists(fs::path(at->path()).replace_extension(".sqlite"), ignored))
      continue;
    if (exported || recorded ||
        ((name.ends_with(".json") || name.ends_with(".json.gz")) && holds_torch_trace(at->path())))
      reports.push_back({at->path(), at->path().lexically_relative(top).string()});
  }
  if (ec)
    throw Error(fmt::format("{}: cannot be read: {}", printable(folder.string()), ec.message()));
  if (reports.empty())
    throw Error(fmt::format("{}: holds no report (*.sqlite, *.nsys-rep, PyTorch traces)",
                            printable(folder.string())));
  std::sort(reports.begin(), reports.end(),
            [](const SlurmReport& a, const SlurmReport& b) { return a.name < b.name; });
  return reports;
}

fs::path digest_path(const fs::path& work, const std::string& name) {
  return work / "digests" / (name + ".digest");
}
fs::path error_path(const fs::path& work, const std::string& name) {
  return work / "errors" / (name + ".err");
}

bool is_newer(const fs::path& path, const fs::path& than) {
  std::error_code ec, other;
  const auto a = fs::last_write_time(path, ec), b = fs::last_write_time(than, other);
  return !ec && !other && a >= b;
}

std::string listed(const std::vector<SlurmReport>& reports) {
  std::string text;
  for (const SlurmReport& r : reports) text += r.path.string() + '\0' + r.name + '\0';
  return text;
}

std::vector<SlurmReport> read_list(const fs::path& path) {
  const std::vector<std::string> parts = split(read_text(path), '\0');
  std::vector<SlurmReport> reports;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) reports.push_back({parts[i], parts[i + 1]});
  return reports;
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += ' ' + shell_word(w);
  return text;
}

// What a container has to see of the file system.
std::vector<fs::path> bound(const SlurmOptions& o) {
  std::vector<fs::path> paths{fs::weakly_canonical(o.folder), work_of(o)};
  paths.insert(paths.end(), o.binds.begin(), o.binds.end());
  return paths;
}

// How the scripts call the program: as a shell function, so that quoting happens in one place.
std::string program_function(const SlurmOptions& o) {
  if (o.container.empty())
    return fmt::format("gh_advise() {{ {} \"$@\"; }}\n", shell_word(o.program));
  std::string binds;
  for (const fs::path& path : bound(o)) binds += " --bind " + shell_word(path.string());
  return fmt::format(
      "runtime=$(command -v apptainer || command -v singularity) || {{ echo 'neither apptainer nor "
      "singularity is on the PATH' >&2; exit 1; }}\n"
      "gh_advise() {{ \"$runtime\" exec{} {} {} \"$@\"; }}\n",
      binds, shell_word(o.container), shell_word(o.program));
}

std::vector<std::string> sbatch_words(const SlurmOptions& o, const std::vector<std::string>& own,
                                      const std::vector<std::string>& script) {
  std::vector<std::string> words{"sbatch", "--parsable", "--chdir=" + work_of(o).string()};
  if (!o.partition.empty()) words.push_back("--partition=" + o.partition);
  words.insert(words.end(), own.begin(), own.end());
  words.insert(words.end(), o.sbatch.begin(), o.sbatch.end());
  words.insert(words.end(), script.begin(), script.end());
  return words;
}

std::vector<std::string> array_words(const SlurmOptions& o, const SlurmJobs::Array& a) {
  return sbatch_words(o, {fmt::format("--array=0-{}", a.tasks - 1)},
                      {(work_of(o) / "digest.sh").string(), std::to_string(a.first)});
}

std::vector<std::string> merge_words(const SlurmOptions& o,
                                     const std::vector<std::string>& arrays) {
  return sbatch_words(o,
                      arrays.empty() ? std::vector<std::string>{}
                                     : std::vector<std::string>{fmt::format(
                                           "--dependency=afterany:{}", fmt::join(arrays, ":"))},
                      {(work_of(o) / "merge.sh").string()});
}

// ---- what was submitted, and what became of it

struct Submitted {
  struct Array {
    std::string id;
    std::int64_t first = 0;
  };
  std::vector<Array> arrays;
  std::string merge;
  std::int64_t per_task = 1;
};

Submitted read_jobs(const fs::path& work) {
  Submitted s;
  try {
    const Json json = Json::parse(read_text(work / "jobs.json"));
    const auto integer = [](const Json& n) {
      return n.is_number_integer() ? n.get<std::int64_t>() : throw Error("not an integer");
    };
    for (const Json& a : json.at("arrays"))
      s.arrays.push_back({a.at("id").get<std::string>(), integer(a.at("first"))});
    s.merge = json.at("merge").get<std::string>();
    s.per_task = std::max<std::int64_t>(1, integer(json.at("reports_per_task")));
  } catch (const std::exception&) {
    throw Error(
        fmt::format("{}: nothing was submitted from there; run `gh-advise slurm` without --status",
                    printable(work.string())));
  }
  return s;
}

struct TaskState {
  std::string state, node;
};

// The states of a job's tasks (task -1: of a job that is no array), by Slurm's queue, which keeps
// those that ended for some minutes, or by its accounting. Nothing where the queue has forgotten
// the job; throws QueueSilent where nobody says.
std::map<std::int64_t, TaskState> task_states(const std::string& id) {
  std::map<std::int64_t, TaskState> states;
  const auto add = [&](const std::string& task, const std::string& state, const std::string& node) {
    const bool number =
        !task.empty() && task.size() < 10 && task.find_first_not_of("0123456789") == task.npos;
    states[number ? std::stoll(task) : -1] = {state.substr(0, state.find(' ')), node};
  };
  const Answer queue =
      run({"squeue", "--noheader", "--array", "--states=all", "--jobs=" + id, "--format=%K|%T|%N"});
  if (queue.status == 0)
    for (const std::string& line : split(queue.text, '\n'))
      if (const auto parts = split(line + '|', '|'); parts.size() >= 2)
        add(parts[0], parts[1], parts.size() > 2 ? parts[2] : "");
  if (!states.empty()) return states;
  if (const Answer accounting =
          run({"sacct", "--noheader", "--parsable2", "--array", "--allocations", "--jobs=" + id,
               "--format=JobID,State,NodeList"});
      accounting.status == 0)
    for (const std::string& line : split(accounting.text, '\n')) {
      const auto parts = split(line + '|', '|');
      if (parts.size() < 2) continue;
      const std::size_t at = parts[0].find('_');
      add(at == parts[0].npos ? "" : parts[0].substr(at + 1), parts[1],
          parts.size() > 2 ? parts[2] : "");
    }
  if (states.empty() && queue.status != 0 && queue.text.find("Invalid job id") == queue.text.npos)
    throw QueueSilent();
  return states;
}

bool is_waiting(const std::string& state) {
  return state == "PENDING" || state == "REQUEUED" || state == "REQUEUE_HOLD" ||
         state == "REQUEUE_FED" || state == "SPECIAL_EXIT" || state == "RESV_DEL_HOLD";
}
bool is_running(const std::string& state) {
  return state == "RUNNING" || state == "CONFIGURING" || state == "COMPLETING" ||
         state == "SUSPENDED" || state == "STOPPED" || state == "SIGNALING" ||
         state == "STAGE_OUT" || state == "RESIZING";
}

// Whether this is the job that brings digests together: it begins when the arrays have ended, and
// in a container has no queue to ask.
bool is_merge(const Submitted& jobs) {
  const char* own = std::getenv("SLURM_JOB_ID");
  return own && jobs.merge == own;
}

bool is_busy(const Submitted& jobs) {
  std::vector<std::string> ids;
  for (const auto& a : jobs.arrays) ids.push_back(a.id);
  if (!jobs.merge.empty()) ids.push_back(jobs.merge);
  for (const std::string& id : ids)
    for (const auto& [task, state] : task_states(id))
      if (is_waiting(state.state) || is_running(state.state)) return true;
  return false;
}

}  // namespace

std::string shell_word(const std::string& word) {
  if (!word.empty() &&
      word.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%") == word.npos)
    return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::int64_t slurm_max_array_size() {
  constexpr std::int64_t by_default = 1001;
  const Answer answer = run({"scontrol", "show", "config"});
  const std::size_t at = answer.text.find("MaxArraySize");
  if (answer.status != 0 || at == answer.text.npos) return by_default;
  const std::size_t digits = answer.text.find_first_of("0123456789", at);
  const std::int64_t size =
      digits == answer.text.npos ? 0 : std::atoll(answer.text.c_str() + digits);
  return size > 1 ? size : by_default;
}

SlurmJobs slurm_jobs(const SlurmOptions& o, std::int64_t max_array_size) {
  SlurmJobs jobs;
  const fs::path work = work_of(o);
  if (o.tasks < 0) throw Error("--ntasks: give a number of tasks, at least 1");
  if (!o.container.empty())
    for (const fs::path& path : bound(o))
      if (path.string().find_first_of(",:") != std::string::npos)
        throw Error(
            fmt::format("{}: holds a comma or a colon, which --bind of Apptainer cannot take; move "
                        "it, or name another with --work",
                        printable(path.string())));
  jobs.reports = reports_in(o.folder, work);
  for (const SlurmReport& r : jobs.reports) {
    bool done = is_newer(digest_path(work, r.name), r.path);
    if (done) try {
        read_digest(digest_path(work, r.name));
      } catch (const Error&) {
        done = false;  // of another version, or damaged since
      }
    if (!done) jobs.todo.push_back(r);
  }
  const auto n = static_cast<std::int64_t>(jobs.todo.size());
  const std::int64_t wanted = o.tasks > 0 ? std::min(o.tasks, n) : std::min(n, max_array_size);
  if (n > 0) jobs.per_task = (n + wanted - 1) / wanted;
  const std::int64_t tasks = n > 0 ? (n + jobs.per_task - 1) / jobs.per_task : 0;
  for (std::int64_t first = 0; first < tasks; first += max_array_size)
    jobs.arrays.push_back({first, std::min(max_array_size, tasks - first)});

  jobs.digest_script =
      fmt::format(R"(#!/bin/bash
#SBATCH --job-name=gh-advise-digest
#SBATCH --output=logs/digest-%A-%a.log
#SBATCH --requeue
# Digests {1} of the reports that `todo` lists: those of this task. The first argument is the number of the array's first task.
set -u
{0}mapfile -d '' -t todo < todo
first=$(( (SLURM_ARRAY_TASK_ID + ${{1:-0}}) * {1} )) failed=0
for (( i = first; i < first + {1} && 2 * i < ${{#todo[@]}}; ++i )); do
  report=${{todo[2*i]}} digest=digests/${{todo[2*i+1]}}.digest error=errors/${{todo[2*i+1]}}.err
  [ "$digest" -nt "$report" ] && continue  # this task was begun before, on a node that died
  mkdir -p "${{digest%/*}}" "${{error%/*}}"
  printf '%s\n' "${{SLURMD_NODENAME:-$HOSTNAME}}" > "$error"
  if gh_advise digest "$report" --output "$PWD/$digest"{2} </dev/null 2>> "$error"; then rm -f "$error"; else cat "$error" >&2; failed=1; fi
done
exit $failed
)",
                  program_function(o), jobs.per_task, words_text(o.digest_arguments));
  std::string results;
  for (const std::string& format : o.results)
    results += fmt::format(" --output {0}=\"$PWD/fleet.{0}\"", format);
  jobs.merge_script = fmt::format(R"(#!/bin/bash
#SBATCH --job-name=gh-advise-fleet
#SBATCH --output=logs/fleet-%j.log
#SBATCH --requeue
# Brings together what could be digested, and names what could not.
set -u
{0}gh_advise slurm {1} --work "$PWD" --status; failed=$?
gh_advise fleet "$PWD/digests" --output text="$PWD/fleet.txt"{2}{3} || failed=$?
exit $failed
)",
                                  program_function(o), shell_word(fs::canonical(o.folder).string()),
                                  results, words_text(o.fleet_arguments));
  return jobs;
}

std::string render_slurm(const SlurmOptions& o, const SlurmJobs& jobs) {
  std::string out =
      fmt::format("# {} report{} in {}, {} of them to be digested\n# working folder: {}\n",
                  jobs.reports.size(), jobs.reports.size() == 1 ? "" : "s",
                  printable(o.folder.string()), jobs.todo.size(), printable(work_of(o).string()));
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
  const fs::path work = work_of(o);
  std::error_code ec;
  if (fs::exists(work / "jobs.json", ec))
    if (const Submitted before = read_jobs(work); is_busy(before))
      throw Error(
          fmt::format("{}: job{} {} is still at work; see `gh-advise slurm {} --status`, or cancel "
                      "it with scancel",
                      printable(work.string()),
                      before.arrays.empty() ? "" : " " + before.arrays.front().id + " or",
                      before.merge, printable(o.folder.string())));
  for (const char* folder : {"digests", "errors", "logs"}) {
    fs::create_directories(work / folder, ec);
    if (ec)
      throw Error(fmt::format("{}: cannot be made: {}; name another working folder with --work",
                              printable((work / folder).string()), ec.message()));
  }
  // Digests of reports that are gone are no part of the job.
  std::set<fs::path> wanted;
  for (const SlurmReport& r : jobs.reports) wanted.insert(digest_path(work, r.name));
  for (const SlurmReport& r : jobs.todo) {
    wanted.erase(digest_path(work, r.name));
    fs::remove(error_path(work, r.name), ec);
  }
  std::vector<fs::path> stale;
  for (const auto& entry : fs::recursive_directory_iterator(work / "digests"))
    if (entry.path().extension() == ".digest" && !wanted.contains(entry.path()))
      stale.push_back(entry.path());
  for (const fs::path& path : stale) fs::remove(path, ec);
  write_file(work / "reports", listed(jobs.reports), "--work");
  write_file(work / "todo", listed(jobs.todo), "--work");
  write_file(work / "digest.sh", jobs.digest_script, "--work");
  write_file(work / "merge.sh", jobs.merge_script, "--work");

  fs::remove(work / "jobs.json", ec);  // from here on it would speak of other reports

  std::vector<std::string> ids;
  const auto submit = [&](const std::vector<std::string>& words) {
    const Answer answer = run(words);
    // --parsable prints the id, and ";cluster" on a federation; site plugins may print lines before
    // it.
    const std::string last = last_line(answer.text), id = last.substr(0, last.find(';'));
    if (answer.status == 0 && !id.empty() && id.find_first_not_of("0123456789") == id.npos)
      return id;
    for (const std::string& submitted : ids) run({"scancel", submitted});
    if (answer.status == 127)
      throw Error(
          "sbatch cannot be run: submit from a machine of the cluster, or see what would be with "
          "--dry-run");
    throw Error(fmt::format("sbatch refused: {}",
                            last.empty() ? fmt::format("exit status {}", answer.status) : last));
  };
  Json arrays = Json::array();
  for (const SlurmJobs::Array& a : jobs.arrays) {
    ids.push_back(submit(array_words(o, a)));
    arrays.push_back({{"id", ids.back()}, {"first", a.first}});
  }
  const std::vector<std::string> digesting = ids;
  ids.push_back(submit(merge_words(o, digesting)));
  write_file(
      work / "jobs.json",
      Json{{"arrays", arrays}, {"merge", ids.back()}, {"reports_per_task", jobs.per_task}}.dump(1) +
          '\n',
      "--work");
  const std::size_t already = jobs.reports.size() - jobs.todo.size();
  std::string said =
      jobs.todo.empty()
          ? fmt::format("all {} reports are digested already\n", already)
          : fmt::format("job {} digests {} report{}{}\n", fmt::join(digesting, ", "),
                        jobs.todo.size(), jobs.todo.size() == 1 ? "" : "s",
                        already > 0 ? fmt::format(", {} are done already", already) : "");
  return said + fmt::format("job {} brings them together{}, in {}\n", ids.back(),
                            digesting.empty() ? "" : " afterwards",
                            printable((work / "fleet.txt").string()));
}

SlurmStatus slurm_status(const SlurmOptions& o) {
  const fs::path work = work_of(o);
  const Submitted jobs = read_jobs(work);
  const std::vector<SlurmReport> reports = read_list(work / "reports"),
                                 todo = read_list(work / "todo");
  std::map<std::string, TaskState> states;  // by report
  SlurmStatus status;
  const bool merging = is_merge(jobs);
  const auto states_of = [&](const std::string& id) {
    try {
      return task_states(id);
    } catch (const QueueSilent&) {
      if (!merging) throw;
      return std::map<std::int64_t, TaskState>();
    }
  };
  status.busy = merging;
  for (const auto& a : jobs.arrays)
    for (const auto& [task, state] : states_of(a.id)) {
      if (is_waiting(state.state) || is_running(state.state)) status.busy = true;
      for (std::int64_t i = (task + a.first) * jobs.per_task;
           task >= 0 && i < (task + a.first + 1) * jobs.per_task &&
           i < static_cast<std::int64_t>(todo.size());
           ++i)
        states[todo[static_cast<std::size_t>(i)].name] = state;
    }
  for (const auto& [task, state] : states_of(jobs.merge))
    status.busy = status.busy || is_waiting(state.state) || is_running(state.state);
  status.reports = reports.size();
  bool fresh = true;
  for (const SlurmReport& r : reports) {
    const fs::path digest = digest_path(work, r.name);
    const TaskState& state = states[r.name];
    if (is_newer(digest, r.path)) {
      ++status.done;
      fresh = fresh && is_newer(work / "fleet.txt", digest);
    } else if (is_waiting(state.state))
      ++status.waiting;
    else if (is_running(state.state))
      ++status.running;
    else {
      // Its first line is the node, the rest what the program said.
      std::error_code ec;
      std::string node = state.node, said;
      if (fs::exists(error_path(work, r.name), ec)) {
        const std::string text = read_text(error_path(work, r.name));
        const std::size_t line = std::min(text.find('\n'), text.size());
        node = printable(text.substr(0, line));
        said = last_line(text.substr(std::min(line + 1, text.size())));
      }
      if (said.starts_with("gh-advise: ")) said.erase(0, 11);
      if (said.empty())
        said = state.state.empty() || state.state == "COMPLETED"
                   ? "its task left neither a digest nor an error; see logs/"
                   : fmt::format("its task ended with {}", state.state);
      else if (!state.state.empty() && state.state != "FAILED" && state.state != "COMPLETED")
        said += fmt::format(" ({})", state.state);
      status.failed.emplace_back(printable(r.name),
                                 said + (node.empty() ? "" : fmt::format(", on {}", node)));
    }
  }
  std::error_code ec;
  if (status.done > 0 && fresh && fs::exists(work / "fleet.txt", ec))
    status.result = printable((work / "fleet.txt").string());
  else if (!status.busy && status.done == status.reports) {
    const fs::path log = work / "logs" / fmt::format("fleet-{}.log", jobs.merge);
    std::string said = fs::exists(log, ec) ? last_line(read_text(log)) : "";
    if (said.starts_with("gh-advise: ")) said.erase(0, 11);
    status.not_merged =
        said.empty() ? fmt::format("it left no error in {}", printable(log.string())) : said;
  }
  return status;
}

std::string render_slurm_status(const SlurmStatus& s) {
  std::string out = fmt::format("{} of {} reports digested", s.done, s.reports);
  if (s.running > 0) out += fmt::format(", {} at work", s.running);
  if (s.waiting > 0) out += fmt::format(", {} waiting", s.waiting);
  if (!s.failed.empty()) out += fmt::format(", {} failed", s.failed.size());
  out += '\n';
  for (const auto& [report, error] : s.failed)
    out += fmt::format("failed: {}: {}\n", report, error);
  if (!s.failed.empty()) out += "run `gh-advise slurm` again to do these alone\n";
  if (!s.not_merged.empty())
    out += fmt::format("bringing them together failed: {}\n", s.not_merged);
  if (!s.result.empty()) out += fmt::format("result: {}\n", s.result);
  return out;
}

}  // namespace gh
