// How long reading a report may take: one that was made to cost hours ends in an Error.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace gh {

/// --timeout: the processor time, in seconds, in which a report has to be read. 0: by its size.
/// Call it before anything is read.
void use_timeout(std::int64_t seconds);

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

}  // namespace gh
