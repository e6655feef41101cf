#include "base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/owner.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

NewFile::NewFile(const fs::path& target, std::string_view told_as)
    : told_(told_as.empty() ? printable(target.string())
                            : fmt::format("{} {}", told_as, printable(target.string()))) {
  const fs::path at_end_of_links = end_of_links(target, told_);
  std::error_code ec;
  const fs::file_status status = fs::status(target, ec);
  if (fs::exists(status) && !fs::is_regular_file(status))
    open_in_place(target);
  else
    open_beside(at_end_of_links);
}

void NewFile::open_in_place(const fs::path& target) {
  in_place_ = true;
  path_ = target_ = target;
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
}

void NewFile::open_beside(const fs::path& target) {
  target_ = target;
  struct stat old {};
  const bool replaces = stat(target_.c_str(), &old) == 0;
  // Somebody made it read-only on purpose, and that should stop root too.
  if (replaces && ((old.st_mode & 0222) == 0 || access(target_.c_str(), W_OK) != 0))
    throw Error(fmt::format("{}: cannot be written, because it is read-only", told_));
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    path_ = fmt::format("{}.{}-{}.part", target_.string(), getpid(), attempt);
    descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) fail(errno);
  }
  t.add(path_);
  if (replaces) fchmod(descriptor_, old.st_mode & 07777);
}

NewFile::~NewFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!in_place_) remove_temporary(path_);
}

void NewFile::fail(int error) const {
  throw Error(fmt::format("{}: cannot be written: {}{}", told_, reason(error),
                          error == ENOENT || error == EACCES || error == ENOTDIR
                              ? "; check the folder and its permissions"
                              : ""));
}

void NewFile::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor_, text.data(), text.size());
    if (n < 0 && errno != EINTR) fail(errno);
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void NewFile::clear() {
  if (ftruncate(descriptor_, 0) != 0 || lseek(descriptor_, 0, SEEK_SET) != 0) fail(errno);
}

void NewFile::commit() {
  if (!in_place_ && fsync(descriptor_) != 0) fail(errno);
  if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (in_place_) return;
  Temporary& t = temporary();
  const std::lock_guard lock(t.mutex);
  if (rename(path_.c_str(), target_.c_str()) != 0) fail(errno);
  t.paths.erase(path_);
}

void write_file(const fs::path& target, std::string_view text, std::string_view told_as) {
  NewFile file(target, told_as);
  file.write(text);
  file.commit();
}

std::string read_text(const fs::path& path) {
  std::error_code ec;
  if (!fs::exists(path, ec) && !ec)
    throw Error(fmt::format("{}: no such file; check the path", printable(path.string())));
  if (fs::exists(path, ec) && !fs::is_regular_file(path, ec))
    throw Error(fmt::format("{}: is not a file", printable(path.string())));
  if (const std::uintmax_t size = fs::file_size(path, ec); !ec && size > most_file_bytes)
    throw Error(fmt::format("{}: is larger than {} MiB, which is the limit",
                            printable(path.string()), most_file_bytes >> 20));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    throw Error(fmt::format("{}: cannot be read; check its permissions", printable(path.string())));
  return text.str();
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory,
                                               std::string_view suffix, std::string_view shown_as) {
  std::error_code ec;
  if (!fs::is_directory(directory, ec)) {
    throw Error(
        fmt::format("{}: {}", shown_as,
                    fs::exists(directory, ec) ? "is not a directory" : "no such directory"));
  }
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, ec);
  for (; !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    std::error_code gone;
    if (at->is_regular_file(gone) && at->path().filename().string().ends_with(suffix)) {
      files.push_back(at->path());
    }
  }
  if (ec) throw Error(fmt::format("{}: {}", shown_as, ec.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace gh
