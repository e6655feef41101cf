// A program that runs on while this one watches it, and ends with it.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spans.hpp"

namespace gh {

/// A program and all that it starts, including processes that leave its group or outlive their
/// parent. It shares this program's terminal and standard streams. If a signal ends this program,
/// the program's first process gets it too, once, and what is left when that has ended; they have
/// minutes to save their work; another signal, more than 1 s later, kills them. SIGUSR1, SIGUSR2,
/// SIGALRM, SIGQUIT and SIGXCPU, which are for the program, do not end this one meanwhile.
class WatchedProgram {
 public:
  /// Starts it with additional environment variables. Throws Error if it cannot be started.
  WatchedProgram(const std::vector<std::string>& words,
                 const std::map<std::string, std::string>& environment);
  /// Ends what still runs.
  ~WatchedProgram();
  WatchedProgram(const WatchedProgram&) = delete;
  WatchedProgram& operator=(const WatchedProgram&) = delete;

  /// Its exit status, or 128 + the signal that ended it; nothing while it runs.
  std::optional<int> status();
  /// Whether one of its processes has this file open.
  bool has_open(const std::filesystem::path& file) const;
  /// How many of its processes run, once it has ended.
  std::size_t others_running() const;
  /// Asks all its processes to end, and kills those that still run after this time. Like the next,
  /// it does not return if a signal is ending this program, which is more patient.
  void end(std::chrono::milliseconds patience);
  /// Likewise, but leaves nsys, which has lost what it watched, as long to end by itself.
  void end_but_for_nsys(std::chrono::milliseconds patience);

 private:
  struct Signals {
    Signals();
    ~Signals();
  };

  void wait_for_status(std::chrono::milliseconds patience);
  void tell(std::string_view text) const;
  bool comes_to_all(int signal) const;
  Signals signals_;
  int keeper_ = 0, connection_ = -1;
  std::optional<int> status_;
};

/// Waits until a program ends, and calls `look` now and then meanwhile, which may end it. Ends it
/// after `limit_ns`, if that is not 0; returns whether it did.
bool watch(WatchedProgram& program, Ns limit_ns, const std::function<void()>& look);

/// What most programs need to end by themselves after SIGTERM.
inline constexpr std::chrono::milliseconds end_patience{10'000};

}  // namespace gh
