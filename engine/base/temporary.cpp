#include "base/temporary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <map>
#include <string>
#include <system_error>
#include <thread>

#include "base/owner.hpp"
#include "base/program.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

void end_children(const Temporary& t) {
  for (const int leader : t.children) {
    kill(-leader, SIGKILL);
    siginfo_t ignored;  // WNOWAIT leaves the child for whoever started it to wait for
    while (waitid(P_PID, static_cast<id_t>(leader), &ignored, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
  }
}

// A folder is locked while the program that made it lives: by then nobody else removes it. These
// are the locks of this program's folders.
std::map<fs::path, int>& locks() {
  static auto& never_destroyed = *new std::map<fs::path, int>;
  return never_destroyed;
}

// Locks a folder of this user's until the descriptor is closed. -1 if that cannot be: another
// program has locked it, it is gone, or the file system has no locks.
int locked(const fs::path& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &status) == 0 && status.st_nlink > 0 &&
      status.st_uid == geteuid())
    return file;
  close(file);
  return -1;
}

void remove_now(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  fs::remove(journal_of(path), ignored);
  if (const auto lock = locks().extract(path)) close(lock.mapped());
}

// The mode of our folders, which nobody gives one of their own: sticky, although only its owner may
// enter. They get it once they are locked, so that nobody else locks them before.
constexpr mode_t marked = S_IRWXU | S_ISVTX;

bool is_marked(const fs::path& folder) {
  struct stat status {};
  constexpr mode_t from_above = S_ISGID;
  return lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         (status.st_mode & 07777 & ~from_above) == marked;
}

constexpr std::string_view any_name = "XXXXXX";  // that mkdtemp replaces

// How names of folders begin. They name the machine, since locks may be invisible to others.
std::string begin_of_names(const char* begin) {
  char machine[HOST_NAME_MAX + 1] = {};
  gethostname(machine, sizeof machine - 1);
  return fmt::format("{}gh-advise-{}-", begin, machine);
}

// Removes the folders of programs that were killed before they could. Where anybody could give such
// a name to another folder of this user's, nothing is removed.
void remove_leftovers(const fs::path& parent, const std::string& begin) {
  struct stat status {};
  if (stat(parent.c_str(), &status) != 0) return;
  if (is_writable_by_others(status) && (status.st_mode & S_ISVTX) == 0) return;
  std::error_code ec;
  for (fs::directory_iterator at(parent, ec); !ec && at != fs::directory_iterator();
       at.increment(ec)) {
    const std::string name = at->path().filename();
    if (name.size() != begin.size() + any_name.size() || !name.starts_with(begin)) continue;
    const int lock = is_marked(at->path()) ? locked(at->path()) : -1;
    if (lock < 0) continue;
    std::error_code ignored;
    fs::remove_all(at->path(), ignored);
    close(lock);
  }
}

// Ends the program with the signal that it received, so that its parent sees the right status.
[[noreturn]] void die_of(int signal, const sigset_t& blocked) {
  ::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  kill(getpid(), signal);
  for (;;) pause();
}

// Runs on its own thread, because a signal handler may neither lock nor remove files.
void wait_for_signal(sigset_t signals) {
  siginfo_t received{};
  while (sigwaitinfo(&signals, &received) < 0) {
  }
  const int signal = received.si_signo;
  Temporary& t = temporary();
  t.mutex.lock();
  if (t.end_others) t.end_others(signal, received.si_code == SI_KERNEL);
  end_children(t);  // before removing the paths, which they may be writing to
  t.remove_paths();
  die_of(signal, signals);
}

// A new folder whose name begins so.
fs::path made_folder(const fs::path& parent, const char* begin, const std::string& refusal) {
  const std::string names = begin_of_names(begin);
  Temporary& t = temporary();
  const std::lock_guard guard(t.mutex);
  remove_leftovers(parent, names);
  std::string name = (parent / names).string() + std::string(any_name);
  if (!mkdtemp(name.data())) throw Error(refusal);
  if (const int lock = locked(name); lock >= 0) {
    locks()[name] = lock;
    fchmod(lock, marked);
  }
  t.add(name);
  return name;
}

}  // namespace

Temporary& temporary() {
  static Temporary& never_destroyed = *new Temporary;
  return never_destroyed;
}

void Temporary::add(const fs::path& path) {
  paths.insert(path);
  if (tell) tell(path);
}

void Temporary::remove_paths() {
  for (const fs::path& path : paths) remove_now(path);
}

fs::path journal_of(const fs::path& path) { return path.string() + "-journal"; }

void clean_up_when_interrupted() {
  ignore_signal(SIGPIPE);
  ignore_signal(SIGXFSZ);
  ::signal(SIGCHLD, SIG_DFL);  // whoever ignores it is not told how programs end
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);  // keeps nohup working
  }
  block_signals(signals);
  try {
    std::thread(wait_for_signal, signals).detach();
  } catch (const std::system_error&) {
    // No thread is available, so let signals end the program immediately.
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  }
}

void remove_temporary(const fs::path& path) {
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (t.paths.erase(path) == 1) remove_now(path);
}

TemporaryFolder::TemporaryFolder() {
  std::error_code ec;
  const fs::path parent = fs::temp_directory_path(ec);
  path = made_folder(
      ec ? "" : fs::absolute(parent), "",
      fmt::format("{}: cannot create a temporary folder there; set TMPDIR to a folder with room",
                  ec ? "TMPDIR" : printable(parent.string())));
}

TemporaryFolder::TemporaryFolder(const fs::path& beside) {
  const fs::path parent = fs::absolute(beside).parent_path();
  path = made_folder(parent, ".",
                     fmt::format("{}: cannot create a folder there", printable(parent.string())));
}

}  // namespace gh
