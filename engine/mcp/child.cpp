#include "mcp/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/temporary.hpp"

namespace gh {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{5};       // of whoever ends a run
constexpr std::chrono::seconds last_patience{1};  // when this program ends itself
// Of standard output and of standard error.
constexpr std::array<std::size_t, 2> most_kept{64u << 20, 4u << 20};

// Both ends of a pipe; those left are closed.
struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw Error(fmt::format("cannot open a pipe: {}", std::strerror(errno)));
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    for (const int end : {read_end, write_end})
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
};

bool has_ended(pid_t pid, int options) {
  siginfo_t info{};  // WNOWAIT leaves the number taken
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | options) != 0)
    if (errno != EINTR) return true;
  return info.si_pid == pid;
}

// When a signal ends this program: a run removes its temporary files before it ends. What is left
// then is killed with the other children.
void end_before_this_program(pid_t pid) {
  kill(pid, SIGTERM);
  const auto last = Clock::now() + last_patience;
  while (!has_ended(pid, WNOHANG) && Clock::now() < last)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// Reads once, and keeps up to `most`. False at the end.
bool read_some(int from, std::string& to, std::size_t most) {
  char buffer[1 << 13];  // as under `ulimit -s 64` the whole stack of a thread is 64 KiB
  const ssize_t n = read(from, buffer, sizeof buffer);
  if (n > 0) to.append(buffer, std::min(static_cast<std::size_t>(n), most - to.size()));
  return n > 0 || (n < 0 && errno == EINTR);
}

}  // namespace

Child::Child(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"gh-advise"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Pipe out, err;
  // What a terminal of the user says about its size is not about the agent.
  const ProgramStart start{.words = words,
                           .path = "/proc/self/exe",
                           .out = out.write_end,
                           .err = err.write_end,
                           .variables = {{"COLUMNS", ""}, {"LINES", ""}}};
  {
    Temporary& t = temporary();
    const std::lock_guard lock(t.mutex);
    if (const int error = start_program(start, pid_); error != 0)
      throw Error(fmt::format("cannot start this program again: {}", std::strerror(error)));
    t.children.insert(pid_);
    t.end_others = [pid = pid_](int, bool) { end_before_this_program(pid); };
  }
  std::swap(pipes_[0], out.read_end);
  std::swap(pipes_[1], err.read_end);
}

Child::~Child() {
  if (running_) {
    kill(pid_, SIGKILL);
    reaped();
  }
  for (const int end : pipes_) close(end);
}

int Child::reaped() {
  has_ended(pid_, 0);
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  const std::lock_guard own_lock(mutex_);
  int status = 0;
  waitpid(pid_, &status, 0);
  t.children.erase(pid_);
  t.end_others = nullptr;
  running_ = false;
  return exit_status(status);
}

Printed Child::wait() {
  Printed printed;
  const std::array<std::string*, 2> texts{&printed.out, &printed.err};
  std::array<pollfd, 2> open{{{pipes_[0], POLLIN, 0}, {pipes_[1], POLLIN, 0}}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    poll(open.data(), open.size(), 200);
    for (std::size_t i = 0; i < open.size(); ++i)
      if (open[i].fd >= 0 && open[i].revents != 0 &&
          !read_some(open[i].fd, *texts[i], most_kept[i]))
        open[i].fd = -1;
    const std::lock_guard lock(mutex_);
    if (kill_at_ && Clock::now() >= *kill_at_) kill(pid_, SIGKILL);
  }
  printed.status = reaped();
  return printed;
}

void Child::end() {
  const std::lock_guard lock(mutex_);
  if (!running_ || kill_at_) return;
  kill(pid_, SIGTERM);
  kill_at_ = Clock::now() + patience;
}

}  // namespace gh
