#include "record/watched_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/numbers.hpp"
#include "base/program.hpp"
#include "base/temporary.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds poll{20}, look_interval{50}, own_patience{5'000};
// After a signal to this program: longer than schedulers wait before they kill.
constexpr milliseconds interrupted_patience{120'000};
constexpr int could_not_start = 127;  // as of a shell

// The parent of a process, and whether it still runs, from /proc/PID/stat: "PID (NAME) STATE PARENT
// ..." where NAME may contain anything.
struct Process {
  pid_t parent = 0;
  bool runs = false, stopped = false;
};
Process process_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 4 >= text.size()) return {};
  const char state = text[name_end + 2];
  return {static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4)), state != 'Z' && state != 'X',
          state == 'T'};
}

// Processes that were started before the program: by the script whose place this process took.
std::set<pid_t>& others() {
  static std::set<pid_t> pids;
  return pids;
}

// All running processes that this one started, and that those started, but for `others`. Whatever
// loses its parent becomes a child of this one (PR_SET_CHILD_SUBREAPER).
std::vector<pid_t> running_descendants() {
  std::multimap<pid_t, pid_t> children;
  std::set<pid_t> running;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/proc", ec)) {
    const std::string name = entry.path().filename();
    const auto pid = number_in<pid_t>(name);
    if (!pid) continue;
    const Process process = process_of(name);
    children.emplace(process.parent, *pid);
    if (process.runs) running.insert(*pid);
  }
  std::vector<pid_t> found, open = {getpid()};
  while (!open.empty()) {
    const auto [from, to] = children.equal_range(open.back());
    open.pop_back();
    for (auto it = from; it != to; ++it) {
      if (others().contains(it->second)) continue;
      open.push_back(it->second);
      if (running.contains(it->second)) found.push_back(it->second);
    }
  }
  return found;
}

// What a process runs; "" if that cannot be told.
fs::path program_of(pid_t pid) {
  std::error_code ec;
  return fs::read_symlink(fmt::format("/proc/{}/exe", pid), ec);
}

// Whether a process is gh-advise, which cleans up behind its own rank.
bool is_this_program(pid_t pid) {
  const fs::path program = program_of(pid);
  return !program.empty() && program == program_of(getpid());
}

bool is_stopped(pid_t pid) { return process_of(std::to_string(pid)).stopped; }

// Whether a second signal has come, while the first one is worked on.
bool interrupted_again() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
         sigismember(&pending, SIGHUP);
}

// How processes are ended.
struct Ending {
  int signal = SIGTERM;     // 0: none, they have it already
  milliseconds patience{};  // then they are killed
  std::string spared;       // but for programs whose names begin so; "" for none
  bool ends_early = false;  // a second signal to this program ends the patience
};

void end_descendants(const Ending& ending) {
  const auto last = std::chrono::steady_clock::now() + ending.patience;
  std::set<pid_t> asked;
  for (bool impatient = false;;) {
    std::vector<pid_t> left = running_descendants();
    if (!ending.spared.empty())
      std::erase_if(left, [&](pid_t pid) {
        return program_of(pid).filename().string().starts_with(ending.spared) ||
               is_this_program(pid);
      });
    const auto now = std::chrono::steady_clock::now();
    // What cannot be killed, as another user's process or one stuck in a driver, is left.
    if (left.empty() || now > last + 2 * own_patience) return;
    impatient = impatient || now >= last || (ending.ends_early && interrupted_again());
    for (const pid_t pid : left) {
      if (impatient) {
        if (now > last + own_patience || !is_this_program(pid)) kill(pid, SIGKILL);
      } else if (ending.signal != 0 && asked.insert(pid).second) {
        kill(pid, ending.signal);
        if (is_stopped(pid)) kill(pid, SIGCONT);  // otherwise it would not notice
      }
    }
    std::this_thread::sleep_for(poll);
  }
}

// When a signal ends this program. The terminal sends its signals to all; a second one would break
// off what a program does then, such as to save a checkpoint.
void end_with_this_program(int signal, bool by_terminal) {
  end_descendants({by_terminal ? 0 : signal, interrupted_patience, "", true});
}

// What this program would remove at its end, apart from files that have become whole meanwhile.
void remove_what_is_left() {
  for (const fs::path& path : temporary().paths) {
    std::error_code ec;
    if (fs::is_directory(path, ec) || fs::is_empty(path, ec)) fs::remove_all(path, ec);
  }
}

// The process between this program and the one that it starts. SIGKILL gives this program no time
// to end what it started and to remove its folder; then this process does. It gets all that loses
// its parent below it, ignores signals, which are for the program, and ends as that does.
[[noreturn]] void keep(const ProgramStart& start, pid_t recorder, int told) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  pid_t program = 0;
  const int error = start_program(start, program);
  if (write(told, &error, sizeof error) < 0 || error != 0) _exit(could_not_start);
  close(told);
  while (getppid() == recorder) {
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == program) _exit(exit_status(status));
    siginfo_t ignored;
    sigwaitinfo(&signals, &ignored);
  }
  end_descendants({SIGTERM, end_patience, "", false});
  remove_what_is_left();
  _exit(128 + SIGKILL);
}

// Starts `keep` with a program. Returns its process, or -1 with errno set.
pid_t start_kept(const ProgramStart& start) {
  int told[2];
  if (pipe2(told, O_CLOEXEC) != 0) return -1;
  const pid_t recorder = getpid(), child = fork();
  if (child == 0) {
    close(told[0]);
    keep(start, recorder, told[1]);
  }
  int error = child < 0 ? errno : 0;
  close(told[1]);
  if (child > 0 && read(told[0], &error, sizeof error) != sizeof error) error = ECHILD;
  close(told[0]);
  if (error == 0) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  errno = error;
  return -1;
}

}  // namespace

WatchedProgram::WatchedProgram(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& environment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const pid_t pid : running_descendants()) others().insert(pid);
  Temporary& t = temporary();
  int error = 0;
  {
    const std::lock_guard lock(t.mutex);
    child_ =
        start_kept({.words = words, .group = ProcessGroup::this_one, .variables = environment});
    error = child_ < 0 ? errno : 0;
    if (error == 0) t.end_others = end_with_this_program;
  }
  if (error != 0)
    throw Error(
        fmt::format("{}: cannot be run: {}", printable(words.front()), std::strerror(error)));
}

WatchedProgram::~WatchedProgram() {
  end(end_patience);
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  t.end_others = nullptr;
}

std::optional<int> WatchedProgram::status() {
  // Processes that lost their parent are this one's children, and would stay as zombies.
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
    if (ended == child_) status_ = exit_status(status);
  return status_;
}

std::size_t WatchedProgram::others_running() const {
  const std::vector<pid_t> all = running_descendants();
  return all.size() - static_cast<std::size_t>(std::count(all.begin(), all.end(), child_));
}

bool WatchedProgram::has_open(const fs::path& file) const {
  std::error_code ec;
  const fs::path sought = fs::weakly_canonical(file, ec);
  for (const pid_t pid : running_descendants())
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ec))
      if (fs::read_symlink(entry.path(), ec) == sought) return true;
  return false;
}

void WatchedProgram::end_but_for(const std::string& name, milliseconds patience) {
  end_descendants({SIGTERM, patience, name, false});
  wait_for_status(patience);
  end(patience);
}

void WatchedProgram::end(milliseconds patience) {
  end_descendants({SIGTERM, patience, "", false});
  wait_for_status(own_patience);
  if (!status_) status_ = 128 + SIGKILL;  // it cannot be killed
}

void WatchedProgram::wait_for_status(milliseconds patience) {
  const auto last = std::chrono::steady_clock::now() + patience;
  while (!status() && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(poll);
}

bool watch(WatchedProgram& program, Ns limit_ns, const std::function<void()>& look) {
  const auto begin = std::chrono::steady_clock::now();
  while (!program.status()) {
    std::this_thread::sleep_for(look_interval);
    look();
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    if (limit_ns > 0 && took.count() > limit_ns && !program.status()) {
      program.end(end_patience);
      return true;
    }
  }
  return false;
}

}  // namespace gh
