#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "base/text.hpp"

extern char** environ;

namespace gh {
namespace {

namespace fs = std::filesystem;

// What has to go when a signal ends the program. Whoever holds the mutex decides what is there; the
// thread that ends the program never lets it go, so that nothing is made or put in place any more.
struct Temporary {
  std::mutex mutex;
  std::set<fs::path> paths;
  std::set<int> children;  // leaders of process groups
};
Temporary& temporary() {
  static Temporary& never_destroyed = *new Temporary;
  return never_destroyed;
}

// What SQLite may put beside a file that it writes.
fs::path journal_of(const fs::path& path) { return path.string() + "-journal"; }

void wait_for_signal(sigset_t signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  Temporary& t = temporary();
  t.mutex.lock();
  for (const int leader : t.children) {
    kill(-leader, SIGKILL);
    siginfo_t ignored;  // it is left to be waited for by whoever started it
    while (waitid(P_PID, static_cast<id_t>(leader), &ignored, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
  }
  std::error_code ignored;
  for (const fs::path& path : t.paths) {
    fs::remove_all(path, ignored);
    fs::remove(journal_of(path), ignored);
  }
  ::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  kill(getpid(), signal);
  for (;;) pause();
}

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

void clean_up_when_interrupted() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);  // nohup stays nohup
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    std::thread(wait_for_signal, signals).detach();
  } catch (const std::system_error&) {
    pthread_sigmask(SIG_UNBLOCK, &signals,
                    nullptr);  // no thread is to be had: a signal ends the program at once
  }
}

void write_to_stdout(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0)
    return;
  throw Error(fmt::format("cannot write to standard output: {}", reason(errno)));
}

NewFile::NewFile(const fs::path& target, std::string_view told_as)
    : told_(told_as.empty() ? printable(target.string())
                            : fmt::format("{} {}", told_as, printable(target.string()))) {
  std::error_code ec;
  const fs::file_status status = fs::status(target, ec);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    in_place_ = true;
    path_ = target_ = target;
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  // Where a link leads, though nothing be there yet.
  fs::path led_to = target;
  for (int links = 0; links < 40 && fs::is_symlink(led_to, ec); ++links) {
    const fs::path next = fs::read_symlink(led_to, ec);
    if (ec) break;
    led_to = next.is_absolute() ? next : led_to.parent_path() / next;
  }
  target_ = fs::weakly_canonical(led_to, ec);
  struct stat old {};
  const bool replaces = stat(target_.c_str(), &old) == 0;
  // Who made it read-only meant it, and root may be told so too.
  if (replaces && ((old.st_mode & 0222) == 0 || access(target_.c_str(), W_OK) != 0))
    throw Error(fmt::format("{}: cannot be written: it is read-only", told_));
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    path_ = fmt::format("{}.{}-{}.part", target_.string(), getpid(), attempt);
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail(errno);
  }
  t.paths.insert(path_);
  if (replaces) fchmod(descriptor_, old.st_mode & 07777);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (in_place_) return;
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (t.paths.erase(path_) == 1) {
    unlink(path_.c_str());
    unlink(journal_of(path_).c_str());
  }
}

void NewFile::fail(int error) const {
  throw Error(fmt::format(
      "{}: cannot be written: {}{}", told_, reason(error),
      error == ENOENT || error == EACCES || error == ENOTDIR ? "; check the folder" : ""));
}

void NewFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void NewFile::commit() {
  if (!in_place_ && fsync(descriptor_) != 0) fail(errno);
  const int closed = close(std::exchange(descriptor_, -1));
  if (closed != 0) fail(errno);
  if (in_place_) return;
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  t.paths.erase(path_);
}

void write_file(const fs::path& target, std::string_view text, std::string_view told_as) {
  NewFile file(target, told_as);
  file.write(text);
  file.commit();
}

TemporaryFolder::TemporaryFolder() {
  std::error_code ec;
  const fs::path parent = fs::temp_directory_path(ec);
  std::string name = (parent / "gh-advise-XXXXXX").string();
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (ec || !mkdtemp(name.data()))
    throw Error(
        fmt::format("{}: no temporary folder can be made there; set TMPDIR to one with room",
                    ec ? "TMPDIR" : printable(parent.string())));
  path = name;
  t.paths.insert(path);
}

TemporaryFolder::~TemporaryFolder() {
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  std::error_code ignored;
  fs::remove_all(path, ignored);
  t.paths.erase(path);
}

int run_program(const std::vector<std::string>& words, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  // A group of its own, so that all of it can be ended, and none of what clean_up_when_interrupted
  // has set.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  Temporary& t = temporary();
  pid_t child = 0;
  {
    const std::lock_guard lock(t.mutex);
    errno = posix_spawnp(&child, arguments[0], &files, &attributes, arguments.data(), environ);
    if (errno == 0) t.children.insert(child);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (errno != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(t.mutex);
  t.children.erase(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read_text(const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (fs::exists(path, ec) && !fs::is_regular_file(path, ec))
    throw Error(fmt::format("{}: is no file", printable(path.string())));
  if (const std::uintmax_t size = fs::file_size(path, ec); !ec && size > most_file_bytes)
    throw Error(
        fmt::format("{}: is larger than {} MiB", printable(path.string()), most_file_bytes >> 20));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    throw Error(fmt::format("{}: cannot be read; check its permissions", printable(path.string())));
  return text.str();
}

}  // namespace gh
