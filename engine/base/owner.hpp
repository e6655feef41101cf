// Whose files are taken for our own. Who can write where we read or write could otherwise choose
// what this program does.
#pragma once
#include <sys/stat.h>

#include <filesystem>

namespace gh {

/// Whether a user's files are as good as ours: we ourselves, root, and who became root by sudo.
bool is_trusted(uid_t owner);

/// Whether somebody besides the owner can write a file or folder. A group that has its owner's
/// number is that user's own, as most distributions make one for each user.
bool is_writable_by_others(const struct stat& status);

/// Whether a link lies there that a user made who is not trusted. It may have been put in the way
/// of what we write.
bool is_foreign_link(const std::filesystem::path& path);

}  // namespace gh
