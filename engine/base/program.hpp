// Running other programs.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace gh {

/// Runs a program with its output going to a file. Returns -1 with errno set if it cannot start,
/// otherwise its exit status, or 128 + the signal that ended it. When a signal ends this program,
/// the other program and everything it started end too.
int run_program(const std::vector<std::string>& words, const std::filesystem::path& output);

}  // namespace gh
