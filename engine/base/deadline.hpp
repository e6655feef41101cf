// Limits how long reading a report may take: one built to take hours ends in an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace gh {

/// --timeout: the CPU time, in seconds, allowed for reading a report. 0: depends on its size. Call
/// this before reading anything.
void use_timeout(std::int64_t seconds);

/// CPU time that this program has used, all threads together.
std::int64_t processor_ns();

/// The CPU time, all threads together, that this program may spend on a file. A slow disk or a busy
/// machine does not use it up.
class Deadline {
 public:
  /// Starts counting now. Without --timeout the limit is many times what any file of this size
  /// takes.
  explicit Deadline(const std::filesystem::path& file);

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
