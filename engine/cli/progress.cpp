#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <system_error>

#include "base/streams.hpp"
#include "base/text.hpp"

namespace gh {

Progress::Progress(std::size_t reports) : reports_(reports) {
  if (!isatty(STDERR_FILENO)) return;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No thread can be had: no line.
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  thread_.join();
  if (shown_) write_to_stderr("\r\x1b[K");
}

void Progress::say(const std::string& what, std::size_t report) {
  const std::lock_guard lock(mutex_);
  what_ = printable(what);
  if (reports_ > 1) what_ += fmt::format(" ({} of {})", report + 1, reports_);
}

void Progress::run() {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::milliseconds(250), [this] { return stopped_; })) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    if (seconds < 1) continue;
    write_to_stderr(fmt::format("\r\x1b[K{} ... {:.0f} s", shortened(what_, 60), seconds));
    shown_ = true;
  }
}

}  // namespace gh
