// Files that this program writes: each is put in place whole or not at all, and what is temporary
// goes, also when a signal ends it.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// For main, before any thread is started: SIGINT, SIGTERM and SIGHUP end the program as ever, once
/// what is temporary is gone; a closed pipe and the limit on a file's size are errors of the write.
void clean_up_when_interrupted();

/// Writes all of it to standard output. Throws Error where that is closed or full.
void write_to_stdout(std::string_view text);

/// A file that is written under another name beside its target and takes its place when it is
/// whole; otherwise it leaves no trace. What is there already and no file (/dev/null, a pipe) is
/// written in place, and a link stays a link.
class NewFile {
 public:
  /// Throws Error where nothing can be written there. `told_as` is how messages name it:
  /// "--output".
  explicit NewFile(const std::filesystem::path& target, std::string_view told_as = "");
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text);
  /// Puts it in place, its content on the disk. Throws Error, as `write` does, where that fails;
  /// what was there then stays.
  void commit();
  /// Where it grows, for who writes it by its name. Not the target, unless that is no file.
  const std::filesystem::path& path() const { return path_; }

 private:
  [[noreturn]] void fail(int error) const;
  std::filesystem::path target_, path_;
  std::string told_;
  int descriptor_ = -1;
  bool in_place_ = false;
};

/// A NewFile of this text.
void write_file(const std::filesystem::path& target, std::string_view text,
                std::string_view told_as = "");

/// A folder of its own below TMPDIR, gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path path;
};

/// Runs a program, its output into a file. -1 where it cannot be started, with errno set; else its
/// exit status, or 128 + the signal that ended it. It and what it starts do not outlive this
/// program when a signal ends it.
int run_program(const std::vector<std::string>& words, const std::filesystem::path& output);

/// Rules, configurations and baselines are no larger: a baseline of a hundred captures has some 10
/// MiB.
inline constexpr std::uintmax_t most_file_bytes = 64 << 20;

/// A file's bytes. Throws Error where it cannot be read, is no file, or is larger than that.
std::string read_text(const std::filesystem::path& path);

}  // namespace gh
