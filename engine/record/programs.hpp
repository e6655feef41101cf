// Whether files exist, and where programs are.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace gh {

bool is_there(const std::filesystem::path& path);

/// Whether a path is a program that this user may run.
bool can_run(const std::filesystem::path& path);

/// A program by its path or its name on the PATH; nothing if there is none.
std::optional<std::filesystem::path> program_on_path(const std::string& name);

/// Whether a word of a command is Python, a script of it, or a program written in it that starts
/// others: torchrun.
bool starts_python(const std::string& word);

}  // namespace gh
