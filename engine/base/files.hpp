// Files that this program reads and writes. One that it writes is put in place whole or not at all.
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

/// A file that is written under another name beside its target and takes its place when it is
/// whole; otherwise it leaves no trace. What is there already and no file (/dev/null, a pipe) is
/// written in place, and a link stays a link, but one that another user made is not followed.
class NewFile {
 public:
  /// Throws Error where nothing can be written there. `told_as` is how messages name it:
  /// "--output".
  explicit NewFile(const std::filesystem::path& target, std::string_view told_as = "");
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  /// Forgets what was written. Not for what is written in place, a device or a pipe.
  void clear();
  /// Puts it in place, its content on the disk. Throws Error, as `write` does, where that fails;
  /// what was there then stays.
  void commit();
  /// Where it grows, for who writes it by its name. Not the target, unless that is no file.
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

/// A NewFile of this text.
void write_file(const std::filesystem::path& target, std::string_view text,
                std::string_view told_as = "");

/// Rules, configurations and baselines are no larger: a baseline of a hundred captures has some
/// 10 MiB.
inline constexpr std::uintmax_t most_file_bytes = 64 << 20;

/// A file's bytes. Throws Error where it cannot be read, is no file, or is larger than that.
std::string read_text(const std::filesystem::path& path);

/// The files below a directory whose names end so, sorted; links to files are followed, folders
/// that may not be entered are left out. Throws Error, which starts with `shown_as`, where there is
/// no such directory or it cannot be read to its end.
std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory,
                                               std::string_view suffix, std::string_view shown_as);

}  // namespace gh
