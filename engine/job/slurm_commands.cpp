#include "job/slurm_commands.hpp"

#include <cstdio>

#include "base/program.hpp"
#include "base/text.hpp"

namespace gh {

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
