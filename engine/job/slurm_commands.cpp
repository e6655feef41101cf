#include "job/slurm_commands.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>

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
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

std::string last_line(const std::string& text) {
  std::string last;
  for (const std::string& line : split(text, '\n')) {
    if (line.find_first_not_of(" \t\r") != line.npos) last = line;
  }
  return shortened(printable(last), 300);
}

}  // namespace gh
