// Commands that are run, and the text that they print.
#pragma once
#include <string>
#include <vector>

namespace gh {

struct CommandAnswer {
  int status = -1;   ///< 127 where there is no such program
  std::string text;  ///< what it printed, errors included
};
CommandAnswer run_command(const std::vector<std::string>& words);

/// The words for a POSIX shell, a space before each.
std::string words_text(const std::vector<std::string>& words);

/// The parts between which `at` stands; no empty one at the end.
std::vector<std::string> split(const std::string& text, char at);

/// The last line that is not blank, fit to be printed.
std::string last_line(const std::string& text);

}  // namespace gh
