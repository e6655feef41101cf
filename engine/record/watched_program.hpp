// A program that runs on while this one watches it, and ends with it.
#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gh {

/// A program and all that it starts, including processes that leave its group or outlive their
/// parent. It shares this program's terminal and standard streams. If a signal ends this program,
/// they get it too, and are killed if they do not end in time.
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
  /// Asks all its processes to end, and kills those that still run after this time.
  void end(std::chrono::milliseconds patience);
  /// Likewise, but leaves programs in this folder as long to end by themselves: a profiler that has
  /// lost what it watched.
  void end_but_for(const std::filesystem::path& folder, std::chrono::milliseconds patience);

 private:
  int child_ = 0;
  std::optional<int> status_;
};

/// What most programs need to end by themselves after SIGTERM.
inline constexpr std::chrono::milliseconds end_patience{10'000};

}  // namespace gh
