#include "base/owner.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/numbers.hpp"

namespace gh {

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

}  // namespace gh
