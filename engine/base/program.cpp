#include "base/program.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string_view>

#include "base/temporary.hpp"

extern char** environ;

namespace gh {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// This program's environment with these variables.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& more) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    if (!more.contains(std::string(text.substr(0, text.find('='))))) all.emplace_back(text);
  }
  for (const auto& [name, value] : more) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

// What this program ignores, and whoever started it did not.
std::set<int>& ignored() {
  static std::set<int> signals;
  return signals;
}

// What whoever started this program had blocked.
sigset_t& found_blocked() {
  static sigset_t signals{};
  return signals;
}

// In a group of its own a program is out of reach of the terminal: it ends if this one ends it.
void reset_signals(posix_spawnattr_t& attributes, ProcessGroup group) {
  sigset_t signals;
  sigemptyset(&signals);
  const bool alone = group != ProcessGroup::this_one;
  posix_spawnattr_setsigmask(&attributes, alone ? &signals : &found_blocked());
  for (const int signal : ignored()) sigaddset(&signals, signal);
  if (alone)
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  posix_spawnattr_setsigdefault(&attributes, &signals);
}

}  // namespace

void ignore_signal(int signal) {
  if (::signal(signal, SIG_IGN) != SIG_IGN) ignored().insert(signal);
}

void stop_ignoring(int signal) {
  if (ignored().erase(signal) == 1) ::signal(signal, SIG_DFL);
}

void block_signals(const sigset_t& signals) {
  pthread_sigmask(SIG_BLOCK, &signals, &found_blocked());
}

int start_program(const ProgramStart& start, pid_t& child) {
  const std::vector<std::string> environment = environment_with(start.variables);
  const std::vector<char*> words = pointers(start.words), variables = pointers(environment);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (start.out >= 0) {
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, start.out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, start.err, STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const int place = start.group == ProcessGroup::own                ? POSIX_SPAWN_SETPGROUP
                    : start.group == ProcessGroup::own_in_a_session ? POSIX_SPAWN_SETSID
                                                                    : 0;
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(place | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  reset_signals(attributes, start.group);
  const int error = posix_spawnp(&child, start.path.empty() ? words[0] : start.path.c_str(), &files,
                                 &attributes, words.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int run_program(const std::vector<std::string>& words, const std::filesystem::path& output) {
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  Temporary& t = temporary();
  pid_t child = 0;
  int error = 0;
  {
    const std::lock_guard lock(t.mutex);
    error = start_program({.words = words, .out = file, .err = file}, child);
    if (error == 0) t.children.insert(child);
  }
  close(file);
  if (error != 0) {
    errno = error;
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(t.mutex);
  t.children.erase(child);
  return exit_status(status);
}

}  // namespace gh
