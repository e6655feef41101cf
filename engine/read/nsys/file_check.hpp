// Checks whether a file is an SQLite database at all, before SQLite opens it.
#pragma once
#include <filesystem>
#include <string>

namespace gh::nsys {

/// Throws Error that says what the file is instead, and what to do: missing, a directory, empty,
/// not exported yet, something else, cut off. `shown` is its path in messages.
void check_file(const std::filesystem::path& path, const std::string& shown);

}  // namespace gh::nsys
