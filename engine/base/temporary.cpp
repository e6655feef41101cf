#include "base/temporary.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <thread>

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

void remove_now(const fs::path& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
  fs::remove(journal_of(path), ignored);
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
  for (const fs::path& path : t.paths) remove_now(path);
  die_of(signal, signals);
}

// A new folder; XXXXXX at the end of its name is replaced.
fs::path made_folder(std::string name, const std::string& refusal) {
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (!mkdtemp(name.data())) throw Error(refusal);
  t.paths.insert(name);
  return name;
}

}  // namespace

Temporary& temporary() {
  static Temporary& never_destroyed = *new Temporary;
  return never_destroyed;
}

fs::path journal_of(const fs::path& path) { return path.string() + "-journal"; }

void clean_up_when_interrupted() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&signals, signal);  // keeps nohup working
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
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
      ec ? "" : (parent / "gh-advise-XXXXXX").string(),
      fmt::format("{}: cannot create a temporary folder there; set TMPDIR to a folder with room",
                  ec ? "TMPDIR" : printable(parent.string())));
}

TemporaryFolder::TemporaryFolder(const fs::path& beside) {
  const fs::path parent = fs::absolute(beside).parent_path();
  path = made_folder((parent / ".gh-advise-XXXXXX").string(),
                     fmt::format("{}: cannot create a folder there", printable(parent.string())));
}

}  // namespace gh
