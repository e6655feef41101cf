#include "base/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/temporary.hpp"

extern char** environ;

namespace gh {
namespace {

// No input; standard output and standard error go to the file.
struct Redirections {
  posix_spawn_file_actions_t actions;

  explicit Redirections(const std::filesystem::path& output) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
  }
  ~Redirections() { posix_spawn_file_actions_destroy(&actions); }
  Redirections(const Redirections&) = delete;
};

// Starts the program in its own process group, so that we can end all of it, and with default
// signal handling instead of what clean_up_when_interrupted set.
struct GroupOfItsOwn {
  posix_spawnattr_t attributes;

  GroupOfItsOwn() {
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes, &signals);
    sigaddset(&signals, SIGPIPE);
    sigaddset(&signals, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &signals);
  }
  ~GroupOfItsOwn() { posix_spawnattr_destroy(&attributes); }
  GroupOfItsOwn(const GroupOfItsOwn&) = delete;
};

}  // namespace

int run_program(const std::vector<std::string>& words, const std::filesystem::path& output) {
  std::vector<char*> arguments;
  for (const std::string& w : words) arguments.push_back(const_cast<char*>(w.c_str()));
  arguments.push_back(nullptr);
  Temporary& t = temporary();
  pid_t child = 0;
  int error = 0;
  {
    const Redirections redirections(output);
    const GroupOfItsOwn group;
    const std::lock_guard lock(t.mutex);
    error = posix_spawnp(&child, arguments[0], &redirections.actions, &group.attributes,
                         arguments.data(), environ);
    if (error == 0) t.children.insert(child);
  }
  if (error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(t.mutex);
  t.children.erase(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace gh
