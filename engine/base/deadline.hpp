// How long reading a report may take: one that was made to cost hours ends in an Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace gh {

/// --timeout: the processor time, in seconds, in which a report has to be read. 0: by its size.
/// Call it before anything is read.
void use_timeout(std::int64_t seconds);

/// Processor time that this program has spent, of all threads together.
std::int64_t processor_ns();

/// Processor time, of all threads together, that this program may spend on a file. A slow disk or a
/// busy machine costs none of it.
class Deadline {
 public:
  /// Counts from now on. Without --timeout it is many times what any file of this size takes.
  explicit Deadline(const std::filesystem::path& file);

  bool passed() const;
  /// For people, without the file's name: what went wrong, and what to do.
  std::string message() const;
  /// Throws Error where it has passed.
  void check() const;

 private:
  std::string shown_;
  std::int64_t seconds_ = 0;
  std::int64_t ends_ns_ = 0;  // on the clock of the processor
};

/// Looks at a deadline now and then: the clock costs more than much of what is done in between.
class Pace {
 public:
  explicit Pace(const Deadline& deadline) : deadline_(deadline) {}
  /// After so many bytes were looked at, or steps of a few nanoseconds taken. Throws Error where
  /// the time is over.
  void went(std::size_t steps) const {
    steps_ += steps;
    if (steps_ >= steps_between_looks) look();
  }

 private:
  static constexpr std::size_t steps_between_looks = 1 << 20;  // some milliseconds
  void look() const {
    steps_ = 0;
    deadline_.check();
  }

  Deadline deadline_;
  mutable std::size_t steps_ = 0;
};

}  // namespace gh
