// Runs commands and captures their output.
#pragma once
#include <string>
#include <vector>

namespace gh {

struct CommandAnswer {
  int status = -1;   ///< 127 if there is no such program
  std::string text;  ///< its output, including errors
};
CommandAnswer run_command(const std::vector<std::string>& words);

/// The words for a POSIX shell, each preceded by a space.
std::string words_text(const std::vector<std::string>& words);

/// The parts separated by `at`, without an empty one at the end.
std::vector<std::string> split(const std::string& text, char at);

/// The last line that is not blank, made printable.
std::string last_line(const std::string& text);

}  // namespace gh
