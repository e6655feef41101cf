// Runs commands and captures their output.
#pragma once
#include <string>
#include <vector>

namespace gh {

/// Characters of what a program said that are shown.
inline constexpr std::size_t most_said = 300;

struct CommandAnswer {
  int status = -1;   ///< 127 if there is no such program
  std::string text;  ///< its output, including errors
};
CommandAnswer run_command(const std::vector<std::string>& words);

/// The words for a POSIX shell, each preceded by a space.
std::string words_text(const std::vector<std::string>& words);

}  // namespace gh
