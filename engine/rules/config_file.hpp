// Checks a configuration file before its content is used: who owns it, and whether its text is safe
// to parse. Anybody may have put it where it was found.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace gh {

/// The file's text. Throws Error if it is not a file, cannot be read or is too large.
std::string configuration_text(const std::filesystem::path& path);

/// Throws Error if a text is too large, or nested so deeply that a recursive parser would overflow
/// the stack.
void check_nesting(std::string_view text, const std::string& shown_path);

/// Whether a folder is the checkout of a CI job, above which nothing is looked for.
bool is_checkout(const std::filesystem::path& folder);

/// For a configuration that was found rather than named. Throws Error if another user owns it, or
/// if others can write it or its folder: they would decide which rules run and what is suppressed.
/// In a CI job the checkout is the subject of the job, so there anybody may own it.
void check_owner(const std::filesystem::path& config);

/// The same for a folder of rules that this configuration names, and for the folders and rules in
/// it.
void check_owner_of_rules(const std::filesystem::path& folder, const std::filesystem::path& config);

}  // namespace gh
