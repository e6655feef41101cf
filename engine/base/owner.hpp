// Whose files we trust as our own. Anyone who can write where we read or write could otherwise
// control what this program does.
#pragma once
#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace gh {

/// Whether to trust files of this user: ourselves, root, or the user who became root through sudo.
bool is_trusted(uid_t owner);

/// Whether anyone except the owner can write a file or folder. A group with the same number as its
/// owner counts as private, because most distributions create one per user.
bool is_writable_by_others(const struct stat& status);

/// Whether there is a link made by a user that we do not trust. It may be there to redirect our
/// output.
bool is_foreign_link(const std::filesystem::path& path);

/// Where a path and the links in it lead, even to a file that does not exist yet. Throws Error,
/// which begins with `told_as`, if one is such a link, of a folder on the way as well.
std::filesystem::path end_of_links(const std::filesystem::path& path, const std::string& told_as);

}  // namespace gh
