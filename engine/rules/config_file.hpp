// A configuration's file before its content is believed: whose it is, and whether its text can be
// parsed. Anybody may have put it where it was found.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace gh {

/// Its text. Throws Error where it is no file, cannot be read or is too large.
std::string configuration_text(const std::filesystem::path& path);

/// Throws Error where a text is too large, or nested so deep that a parser which recurses would
/// overflow the stack.
void check_nesting(std::string_view text, const std::string& shown_path);

/// For a configuration that was found rather than named. Throws Error where another user owns it,
/// or others can write it or its folder: they would choose what rules run and what is suppressed.
/// In a CI job the checkout is what the job is about: there it may be anybody's.
void check_owner(const std::filesystem::path& path);

}  // namespace gh
