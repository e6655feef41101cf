// Limits how long a report may take, to read and in all: one built to take hours ends in an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace gh {

/// --timeout: the CPU time, in seconds, allowed for a report. 0: depends on its size. Call this
/// before reading anything.
void use_timeout(std::int64_t seconds);

/// CPU time that this program has used, all threads together.
std::int64_t processor_ns();

/// The CPU time, all threads together, that this program may spend on a file. A slow disk or a busy
/// machine does not use it up.
class Deadline {
 public:
  /// Starts counting now. Without --timeout the limit is many times what any file of this size
  /// takes. A TimeLimit allows as much more.
  explicit Deadline(const std::filesystem::path& file);

  /// Whether this time is up, or that of the TimeLimit.
  bool passed() const;
  /// What went wrong and what to do, without the file's name.
  std::string message() const;
  /// Throws Error if the deadline has passed.
  void check() const;

 private:
  std::string shown_;
  std::int64_t seconds_ = 0;
  std::int64_t ends_ns_ = 0;  // in CPU time
};

/// While it lives, all that this program does, on any thread, has to end within the time that the
/// files read meanwhile may take: to read them, to analyze them, to run rules and to show what
/// these found. One within another changes nothing.
class TimeLimit {
 public:
  TimeLimit();
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  bool outermost_;
};

/// Throws Error if the time of the TimeLimit is up. Reading the clock takes a microsecond, so call
/// this before longer work only: a pass over all rows, a chunk of them, a replay. Work on several
/// threads (base/parallel.hpp) and phases (base/profile.hpp) call it.
void check_time();
/// The same at the beginning of a phase, which the Error names.
void check_time(std::string_view phase);
/// What is left of that time; very much if there is no limit.
std::int64_t time_left_ns();

/// Checks a deadline only now and then, because reading the clock costs more than most work between
/// two checks.
class Pace {
 public:
  explicit Pace(const Deadline& deadline) : deadline_(deadline) {}
  /// Call after looking at that many bytes, or taking that many steps of a few nanoseconds each.
  /// Throws Error if the deadline has passed.
  void went(std::size_t steps) const {
    steps_ += steps;
    if (steps_ >= steps_between_looks) look();
  }

 private:
  static constexpr std::size_t steps_between_looks = 1 << 20;  // a few milliseconds
  void look() const {
    steps_ = 0;
    deadline_.check();
  }

  Deadline deadline_;
  mutable std::size_t steps_ = 0;
};

}  // namespace gh
