#include "record/watched_program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
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
// Signals that are sent to all of a job, as a warning or to ask for something: they are for the
// program, which knows what to do then.
constexpr int for_the_program[] = {SIGUSR1, SIGUSR2, SIGALRM, SIGQUIT, SIGXCPU};
// What comes within this time is one signal: `timeout` sends its to a process and to its group.
constexpr milliseconds one_signal{1'000};

// The parent of a process, and whether it still runs, from /proc/PID/stat: "PID (NAME) STATE PARENT
// ..." where NAME may contain anything.
struct Process {
  pid_t parent = 0;
  bool runs = false, stopped = false;
};
Process process_of(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 4 >= text.size()) return {};
  const char state = text[name_end + 2];
  return {static_cast<pid_t>(std::atoi(text.c_str() + name_end + 4)), state != 'Z' && state != 'X',
          state == 'T'};
}

// All of this machine, or of this container.
std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/proc", ec))
    if (const auto pid = number_in<pid_t>(entry.path().filename().native())) all.push_back(*pid);
  return all;
}

// What a process has open, as far as that can be told.
std::set<fs::path> open_files(pid_t pid) {
  std::set<fs::path> files;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ec))
    if (const fs::path file = fs::read_symlink(entry.path(), ec); !ec) files.insert(file);
  return files;
}

// Processes that were started before the program: by the script whose place this process took.
std::set<pid_t>& others() {
  static std::set<pid_t> pids;
  return pids;
}

// The processes that run `keep`: they stay until this one needs them no more.
std::set<pid_t>& keepers() {
  static std::set<pid_t> pids;
  return pids;
}

// All running processes that this one started, and that those started, but for `others` and
// `keepers`; not what those for which `enter` is false have started. Whatever loses its parent
// becomes a child of this one (PR_SET_CHILD_SUBREAPER).
template <class Enter>
std::vector<pid_t> running_below(Enter enter) {
  std::multimap<pid_t, pid_t> children;
  std::set<pid_t> running;
  for (const pid_t pid : all_processes()) {
    const Process process = process_of(pid);
    children.emplace(process.parent, pid);
    if (process.runs) running.insert(pid);
  }
  std::vector<pid_t> found, open = {getpid()};
  while (!open.empty()) {
    const auto [from, to] = children.equal_range(open.back());
    open.pop_back();
    for (auto it = from; it != to; ++it) {
      const pid_t pid = it->second;
      if (others().contains(pid)) continue;
      const bool keeps = keepers().contains(pid);
      if (keeps || enter(pid)) open.push_back(pid);
      if (running.contains(pid) && !keeps) found.push_back(pid);
    }
  }
  return found;
}
std::vector<pid_t> running_descendants() {
  return running_below([](pid_t) { return true; });
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

bool is_nsys(pid_t pid) { return program_of(pid).filename().string().starts_with("nsys"); }

// Whether a signal is in one of the sets of /proc/PID/status: "ShdPnd" holds what the process has
// got and blocks, "SigCgt" what it handles.
bool is_in(const char* set, pid_t pid, int signal) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  const std::string key = fmt::format("{}:", set);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key))
      return (std::strtoull(line.c_str() + key.size(), nullptr, 16) >> (signal - 1) & 1) != 0;
  return false;
}

// A shell that does not pass a signal on: one with a trap does, and all handle SIGINT while they
// wait.
bool is_deaf_shell(pid_t pid, int signal) {
  constexpr std::string_view shells[] = {"sh", "dash", "bash", "ksh", "zsh", "busybox"};
  const std::string name = program_of(pid).filename();
  return std::find(std::begin(shells), std::end(shells), name) != std::end(shells) &&
         (signal == SIGINT || !is_in("SigCgt", pid, signal));
}

// Those that a signal is for: the program's own first process, which nsys may have started, or
// shells, which are among them.
std::set<pid_t> first_processes(int signal) {
  const std::vector<pid_t> all =
      running_below([&](pid_t pid) { return is_nsys(pid) || is_deaf_shell(pid, signal); });
  std::set<pid_t> first(all.begin(), all.end());
  std::erase_if(first, is_nsys);
  return first;
}

bool is_stopped(pid_t pid) { return process_of(pid).stopped; }

// Whether a second signal has come, while the first one is worked on. It is forgotten then.
bool interrupted_again() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  constexpr timespec at_once{};
  return sigtimedwait(&signals, nullptr, &at_once) > 0;
}

// How processes are ended.
struct Ending {
  int signal = SIGTERM;
  milliseconds patience{};   // then they are killed
  bool spares_nsys = false;  // and recorders of ranks, which end by themselves
  bool ends_early = false;   // a second signal to this program ends the patience
  // If any: the others get the signal once these have ended, which may end them in their own way.
  std::set<pid_t> first = {};
  bool group_has_it = false;  // the processes in this one's group have the signal already
};

void end_descendants(const Ending& ending) {
  const auto begin = std::chrono::steady_clock::now(), last = begin + ending.patience;
  std::set<pid_t> asked;
  for (bool impatient = false;;) {
    std::vector<pid_t> left = running_descendants();
    if (ending.spares_nsys)
      std::erase_if(left, [](pid_t pid) { return is_nsys(pid) || is_this_program(pid); });
    const auto now = std::chrono::steady_clock::now();
    // What cannot be killed, as another user's process or one stuck in a driver, is left.
    if (left.empty() || now > last + 2 * own_patience) return;
    const bool again = ending.ends_early && interrupted_again() && now > begin + one_signal;
    impatient = impatient || now >= last || again;
    const bool first_run = std::any_of(left.begin(), left.end(),
                                       [&](pid_t pid) { return ending.first.contains(pid); });
    for (const pid_t pid : left) {
      const bool is_next = !first_run || ending.first.contains(pid);
      if (impatient) {
        if (now > last + own_patience || !is_this_program(pid)) kill(pid, SIGKILL);
      } else if (is_next && asked.insert(pid).second) {
        if (!ending.group_has_it || getpgid(pid) != getpgrp()) kill(pid, ending.signal);
        if (is_stopped(pid)) kill(pid, SIGCONT);  // otherwise it would not notice
      }
    }
    std::this_thread::sleep_for(poll);
  }
}

// Does not return if a signal is ending this program, which then has more patience.
void wait_if_interrupted() { const std::lock_guard lock(temporary().mutex); }

// Kills what has a file open in one of these folders: what this program started itself, such as an
// export, is no child of `keep`. It shares the session; others who look into a folder do not.
void kill_users(const std::set<fs::path>& folders) {
  std::set<fs::path> real;
  std::error_code ec;
  for (const fs::path& folder : folders)
    if (const fs::path found = fs::canonical(folder, ec); !ec) real.insert(found);
  const pid_t session = getsid(0);
  const auto uses_them = [&](pid_t pid) {
    if (getsid(pid) != session || is_this_program(pid)) return false;
    const std::set<fs::path> files = open_files(pid);
    return std::any_of(files.begin(), files.end(),
                       [&](auto& file) { return real.contains(file.parent_path()); });
  };
  const auto last = std::chrono::steady_clock::now() + own_patience;
  for (bool found = true; found && std::chrono::steady_clock::now() < last;) {
    found = false;
    for (const pid_t pid : all_processes())
      if (uses_them(pid) && kill(pid, SIGKILL) == 0) found = true;
    if (found) std::this_thread::sleep_for(poll);
  }
}

// What this program tells `keep`: paths, and that it is needed no more.
constexpr std::string_view end_now("\0", 1);

// The process between this program and the one that it starts. SIGKILL gives this program no time
// to end what it started and to remove its files; then this process does. It gets all that loses
// its parent below it, ignores signals, which are for the program, and tells the status with which
// that ends. It stays while files may be left.
[[noreturn]] void keep(const ProgramStart& start, int recorder) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t signals;
  sigfillset(&signals);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  sigdelset(&signals, SIGCHLD);
  signal(SIGCHLD, [](int) {});  // it breaks off ppoll
  pid_t program = 0;
  const int error = start_program(start, program);
  send(recorder, &error, sizeof error, 0);
  if (error != 0) _exit(could_not_start);
  std::set<fs::path>& paths = temporary().paths;
  for (;;) {
    pollfd heard{recorder, POLLIN, 0};
    const bool is_told = ppoll(&heard, 1, nullptr, &signals) > 0;
    int status = 0;
    for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == program) send(recorder, &status, sizeof status, 0);
    if (!is_told) continue;
    char told[PATH_MAX];
    const ssize_t bytes = recv(recorder, told, sizeof told, 0);
    if (bytes <= 0) break;  // it has ended
    const std::string_view text(told, static_cast<std::size_t>(bytes));
    if (text == end_now) _exit(0);
    paths.insert(text);
  }
  end_descendants({.patience = end_patience});
  kill_users(paths);
  temporary().remove_paths();
  _exit(0);
}

// Starts `keep` with a program, connected to this process. Returns its process, or -1 with errno
// set.
pid_t start_kept(const ProgramStart& start, int& connection) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    keep(start, ends[1]);
  }
  int error = child < 0 ? errno : 0;
  close(ends[1]);
  if (child > 0 && recv(ends[0], &error, sizeof error, 0) != sizeof error) error = ECHILD;
  if (error == 0) {
    connection = ends[0];
    keepers().insert(child);
    return child;
  }
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  errno = error;
  return -1;
}

}  // namespace

WatchedProgram::Signals::Signals() {
  for (const int signal : for_the_program) ignore_signal(signal);
}

WatchedProgram::Signals::~Signals() {
  for (const int signal : for_the_program) stop_ignoring(signal);
}

WatchedProgram::WatchedProgram(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& environment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (const pid_t pid : running_descendants()) others().insert(pid);
  Temporary& t = temporary();
  int error = 0;
  {
    const std::lock_guard lock(t.mutex);
    keeper_ = start_kept(
        {.words = words, .group = ProcessGroup::this_one, .variables = environment}, connection_);
    error = keeper_ < 0 ? errno : 0;
    if (error == 0) {
      t.tell = [this](const fs::path& path) { tell(path.native()); };
      // The terminal sends its signals to all, others may do so; a second one would break off what
      // a program does then, such as to save a checkpoint.
      t.end_others = [this](int signal, bool by_terminal) {
        // Of a terminal that goes away only the leader of its session is told.
        const bool group_has_it = (by_terminal && signal != SIGHUP) || comes_to_all(signal);
        end_descendants({.signal = signal,
                         .patience = interrupted_patience,
                         .ends_early = true,
                         .first = first_processes(signal),
                         .group_has_it = group_has_it});
        shutdown(connection_, SHUT_WR);  // as if this program were killed
        waitpid(keeper_, nullptr, 0);
      };
    }
  }
  if (error != 0)
    throw Error(
        fmt::format("{}: cannot be run: {}", printable(words.front()), std::strerror(error)));
}

WatchedProgram::~WatchedProgram() {
  end(end_patience);
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  t.tell = nullptr;
  t.end_others = nullptr;
  tell(end_now);
  close(connection_);
  waitpid(keeper_, nullptr, 0);
  keepers().erase(keeper_);
}

// The process between is in this one's group and blocks all signals.
bool WatchedProgram::comes_to_all(int signal) const {
  constexpr int looks = 5;
  for (int i = 0; i < looks; ++i, std::this_thread::sleep_for(poll))
    if (is_in("ShdPnd", keeper_, signal)) return true;
  return false;
}

void WatchedProgram::tell(std::string_view text) const {
  send(connection_, text.data(), text.size(), 0);
}

std::optional<int> WatchedProgram::status() {
  if (status_) return status_;
  int status = 0;
  const ssize_t bytes = recv(connection_, &status, sizeof status, MSG_DONTWAIT);
  if (bytes == sizeof status) status_ = exit_status(status);
  if (bytes == 0) status_ = 128 + SIGKILL;  // only that ends the process between
  return status_;
}

std::size_t WatchedProgram::others_running() const { return running_descendants().size(); }

bool WatchedProgram::has_open(const fs::path& file) const {
  std::error_code ec;
  const fs::path sought = fs::weakly_canonical(file, ec);
  const std::vector<pid_t> all = running_descendants();
  return std::any_of(all.begin(), all.end(),
                     [&](pid_t pid) { return open_files(pid).contains(sought); });
}

void WatchedProgram::end_but_for_nsys(milliseconds patience) {
  wait_if_interrupted();
  end_descendants({.patience = patience, .spares_nsys = true});
  wait_for_status(patience);
  end(patience);
}

void WatchedProgram::end(milliseconds patience) {
  wait_if_interrupted();
  end_descendants({.patience = patience});
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
