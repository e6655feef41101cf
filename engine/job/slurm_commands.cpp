#include "job/slurm_commands.hpp"

#include <cstdio>

#include "base/program.hpp"
#include "base/text.hpp"
#include "job/slurm.hpp"

namespace gh {

std::string shell_word(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += ' ' + shell_word(w);
  return text;
}

CommandAnswer run_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& w : words) command += shell_word(w) + ' ';
  CommandAnswer answer;
  FILE* pipe = popen((command + "2>&1 </dev/null").c_str(), "r");
  if (!pipe) return answer;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    answer.text.append(buffer, n);
  }
  const int status = pclose(pipe);
  answer.status = exit_status(status);
  return answer;
}

}  // namespace gh
