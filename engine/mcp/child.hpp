// This program itself in another process: whatever a report does to it, its caller lives on and can
// end it.
#pragma once
#include <sys/types.h>

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// What a run printed.
struct Printed {
  int status = 0;  ///< the exit status, or 128 + the signal that ended it
  std::string out, err;
};

/// A run of this program. There must not be two at a time. When a signal ends the caller, it ends
/// too.
class Child {
 public:
  /// Starts it with these arguments and without input. Throws Error if it cannot start.
  explicit Child(const std::vector<std::string>& arguments);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits until it has ended; call it once. What it prints beyond 64 MiB, or 4 MiB on
  /// standard error, is lost.
  Printed wait();
  /// Asks it to end, which it does after cleaning up, and kills it if it does not. Any thread may
  /// call this.
  void end();

 private:
  int reaped();

  pid_t pid_ = 0;
  std::array<int, 2> pipes_{-1, -1};  // its standard output and standard error
  std::mutex mutex_;                  // of what follows
  bool running_ = true;               // only then is the number its own
  std::optional<std::chrono::steady_clock::time_point> kill_at_;
};

}  // namespace gh
