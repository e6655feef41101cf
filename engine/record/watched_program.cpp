#include "record/watched_program.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <thread>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

extern char** environ;

namespace gh {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds poll{20}, interrupt_time{300};

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

// All running processes that this one started, and that those started. Whatever loses its parent
// becomes a child of this one (PR_SET_CHILD_SUBREAPER).
std::vector<pid_t> running_descendants() {
  std::multimap<pid_t, pid_t> children;
  std::set<pid_t> running;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/proc", ec)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    const Process process = process_of(name);
    const pid_t pid = std::atoi(name.c_str());
    children.emplace(process.parent, pid);
    if (process.runs) running.insert(pid);
  }
  std::vector<pid_t> found, open = {getpid()};
  while (!open.empty()) {
    const auto [from, to] = children.equal_range(open.back());
    open.pop_back();
    for (auto it = from; it != to; ++it) {
      open.push_back(it->second);
      if (running.contains(it->second)) found.push_back(it->second);
    }
  }
  return found;
}

bool is_stopped(pid_t pid) { return process_of(std::to_string(pid)).stopped; }

// Whether a process runs a program that lies in a folder.
bool runs_from(pid_t pid, const fs::path& folder) {
  std::error_code ec;
  const std::string program = fs::read_symlink(fmt::format("/proc/{}/exe", pid), ec);
  return program.starts_with(folder.string() + "/");
}

// `spared`: a folder whose programs are left alone; "" for none.
void end_descendants(int signal, milliseconds patience, const fs::path& spared = "") {
  const auto last = std::chrono::steady_clock::now() + patience;
  std::set<pid_t> asked;
  for (;;) {
    std::vector<pid_t> left = running_descendants();
    if (!spared.empty()) std::erase_if(left, [&](pid_t pid) { return runs_from(pid, spared); });
    if (left.empty()) return;
    const bool patient = std::chrono::steady_clock::now() < last;
    for (const pid_t pid : left) {
      if (!patient) {
        kill(pid, SIGKILL);
      } else if (asked.insert(pid).second) {
        kill(pid, signal);
        if (is_stopped(pid)) kill(pid, SIGCONT);  // otherwise it would not notice
      }
    }
    std::this_thread::sleep_for(poll);
  }
}

// When a signal ends this program.
void end_with_this_program(int signal) {
  // The terminal sends SIGINT to all of them; a second one would make them break off.
  if (signal == SIGINT) std::this_thread::sleep_for(interrupt_time);
  end_descendants(SIGTERM, end_patience);
}

std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (!more.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

}  // namespace

WatchedProgram::WatchedProgram(const std::vector<std::string>& words,
                               const std::map<std::string, std::string>& environment) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<std::string> variables = environment_with(environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  Temporary& t = temporary();
  int error = 0;
  {
    const std::lock_guard lock(t.mutex);
    error = posix_spawnp(&child_, words.front().c_str(), nullptr, &attributes,
                         pointers(words).data(), pointers(variables).data());
    if (error == 0) t.end_others = end_with_this_program;
  }
  posix_spawnattr_destroy(&attributes);
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
  int status = 0;
  if (!status_ && waitpid(child_, &status, WNOHANG) == child_)
    status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

bool WatchedProgram::has_open(const fs::path& file) const {
  std::error_code ec;
  const fs::path sought = fs::weakly_canonical(file, ec);
  for (const pid_t pid : running_descendants())
    for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", pid), ec))
      if (fs::read_symlink(entry.path(), ec) == sought) return true;
  return false;
}

void WatchedProgram::end_but_for(const fs::path& folder, milliseconds patience) {
  std::error_code ec;
  end_descendants(SIGTERM, patience, fs::weakly_canonical(folder, ec));
  const auto last = std::chrono::steady_clock::now() + patience;
  while (!status() && std::chrono::steady_clock::now() < last) std::this_thread::sleep_for(poll);
  end(patience);
}

void WatchedProgram::end(milliseconds patience) {
  end_descendants(SIGTERM, patience);
  while (!status()) std::this_thread::sleep_for(poll);
  int ignored = 0;
  while (waitpid(-1, &ignored, WNOHANG) > 0) {  // those that lost their parent
  }
}

}  // namespace gh
