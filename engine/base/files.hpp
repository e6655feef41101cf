// Reading and writing files. A file is written completely or not at all.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/program.hpp"
#include "base/streams.hpp"
#include "base/temporary.hpp"

namespace gh {

/// A file written under a temporary name next to its target. It replaces the target once it is
/// complete; otherwise it leaves no trace. A target that is not a regular file (/dev/null, a pipe)
/// is written in place. Links stay links, except that a link made by another user is refused.
class NewFile {
 public:
  /// Throws Error if the target cannot be written. Messages call it `told_as`, such as "--output".
  explicit NewFile(const std::filesystem::path& target, std::string_view told_as = "");
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  /// Discards what was written so far. Has no effect on a device or pipe, which is written in
  /// place.
  void clear();
  /// Flushes the content to disk and moves it into place. Throws Error if that fails, as `write`
  /// does; the old file then stays.
  void commit();
  /// The path being written, for code that needs a name to write to. Differs from the target unless
  /// the target is written in place.
  const std::filesystem::path& path() const { return path_; }

 private:
  void open_in_place(const std::filesystem::path& target);
  void open_beside(const std::filesystem::path& target);
  [[noreturn]] void fail(int error) const;

  std::filesystem::path target_, path_;
  std::string told_;
  int descriptor_ = -1;
  bool in_place_ = false;
};

/// Writes this text through a NewFile.
void write_file(const std::filesystem::path& target, std::string_view text,
                std::string_view told_as = "");

/// The size limit for rules, configurations and baselines. A baseline of a hundred captures takes
/// about 10 MiB.
inline constexpr std::uintmax_t most_file_bytes = 64 << 20;

/// A file's bytes. Throws Error if it cannot be read, is not a file, or exceeds the limit.
std::string read_text(const std::filesystem::path& path);

/// The files below a directory whose names end with the suffix, sorted. Follows links to files and
/// skips folders that may not be entered. Throws Error, starting with `shown_as`, if the directory
/// does not exist or cannot be read to the end.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory,
                                               std::string_view suffix, std::string_view shown_as);

}  // namespace gh
