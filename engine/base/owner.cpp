#include "base/owner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <deque>
#include <optional>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

namespace fs = std::filesystem;

// The target of a link at `path`; nothing if there is no link. Throws Error if another user made
// the link, who may have planted it to redirect our output. Opening it first makes sure that owner
// and target belong to the same link.
std::optional<fs::path> target_of_link(const fs::path& path, const std::string& told,
                                       bool is_folder) {
  const int link = open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) return std::nullopt;
  struct stat status {};
  std::string target(PATH_MAX, '\0');
  const bool is_link = fstat(link, &status) == 0 && S_ISLNK(status.st_mode);
  const ssize_t length = is_link ? readlinkat(link, "", target.data(), target.size()) : -1;
  close(link);
  if (is_link && !is_trusted(status.st_uid)) {
    const std::string by =
        fmt::format("a link made by another user ({}), so it is not followed", status.st_uid);
    if (is_folder)
      throw Error(
          fmt::format("{}: {} is {}; write to another folder", told, printable(path.string()), by));
    throw Error(fmt::format("{}: is {}; remove it, or write to another file", told, by));
  }
  if (length < 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(length));
  return target;
}

}  // namespace

bool is_trusted(uid_t owner) {
  const uid_t own = geteuid();
  if (owner == own || owner == 0) return true;
  const char* by_sudo = own == 0 ? std::getenv("SUDO_UID") : nullptr;
  return by_sudo && number_in<uid_t>(by_sudo) == owner;
}

bool is_writable_by_others(const struct stat& status) {
  if ((status.st_mode & S_IWOTH) != 0) return true;
  return (status.st_mode & S_IWGRP) != 0 && status.st_gid != status.st_uid;
}

bool is_foreign_link(const std::filesystem::path& path) {
  struct stat link {};
  return lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && !is_trusted(link.st_uid);
}

fs::path end_of_links(const fs::path& path, const std::string& told_as) {
  // Follows it part by part, as the system would: a link can be in place of any folder.
  constexpr int most_links = 40;
  std::deque<fs::path> parts(path.begin(), path.end());
  fs::path end;
  for (int links = 0; !parts.empty();) {
    const fs::path next = end / parts.front();
    parts.pop_front();
    const std::optional<fs::path> target =
        links < most_links ? target_of_link(next, told_as, !parts.empty()) : std::nullopt;
    if (target) {
      ++links;
      parts.insert(parts.begin(), target->begin(), target->end());
    } else {
      end = next;
    }
  }
  std::error_code ec;
  return fs::weakly_canonical(end, ec);
}

}  // namespace gh
