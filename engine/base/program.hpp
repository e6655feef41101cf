// Other programs, run from this one.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace gh {

/// Runs a program, its output into a file. -1 where it cannot be started, with errno set; else its
/// exit status, or 128 + the signal that ended it. It and what it starts do not outlive this
/// program when a signal ends it.
int run_program(const std::vector<std::string>& words, const std::filesystem::path& output);

}  // namespace gh
