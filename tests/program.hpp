// Runs the built program as a user would.
#pragma once
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "support.hpp"

namespace support {

struct Ran {
  int status = -1;  ///< 128 + the signal where one ended it
  std::string out, err;
};

/// Where and how: `environment` as in env(1), on top of one in which nothing is set that changes
/// what is printed.
struct How {
  std::string environment = {};
  std::filesystem::path folder = GH_FIXTURES;
};

inline Ran shell(const std::string& command, const How& how = {}) {
  const TempDir dir;
  write_file(dir / "command", "cd '" + how.folder.string() + "' && " + command + "\n");
  const std::string clean =
      "env -u COLUMNS -u NO_COLOR -u LC_CTYPE -u LANG TERM=xterm LC_ALL=C.UTF-8 " + how.environment;
  const int status =
      std::system((clean + " bash '" + (dir / "command").string() + "' >'" +
                   (dir / "out").string() + "' 2>'" + (dir / "err").string() + "' </dev/null")
                      .c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(dir / "out"),
          read_file(dir / "err")};
}

/// `gh-advise ARGUMENTS` (shell syntax), in the folder of the recorded reports unless `how` says
/// otherwise.
inline Ran advise(const std::string& arguments, const How& how = {}) {
  return shell("exec '" GH_PROGRAM "' " + arguments, how);
}

/// Whether the program was built for another machine and runs under an emulator: then it is slow,
/// and qemu cannot tell it that a program which it starts is missing.
#ifdef GH_EMULATED
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

/// Whether sanitizers are in the program: then it is slow, reserves terabytes of addresses, and
/// (under ThreadSanitizer) has a thread of theirs.
#ifdef GH_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// The same on a terminal of so many columns; what it shows is in `out`, standard error included,
/// but for the line that says what is being done, which comes on slow machines.
inline Ran on_terminal(const std::string& arguments, const How& how = {}, int columns = 100) {
  Ran ran = shell("exec script -qec \"stty cols " + std::to_string(columns) +
                      "; '" GH_PROGRAM "' " + arguments + "\" /dev/null",
                  how);
  ran.out =
      std::regex_replace(ran.out, std::regex("\r\x1b\\[K([^\r\n]* \\.\\.\\. [0-9]+ s(?=\r))?"), "");
  std::erase(ran.out, '\r');
  return ran;
}

inline nlohmann::ordered_json json_of(const Ran& ran) {
  INFO(ran.err);
  REQUIRE(!ran.out.empty());
  return nlohmann::ordered_json::parse(ran.out);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Names of the recorded reports: "starved", ...
inline std::vector<std::string> recorded() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(GH_FIXTURES))
    if (entry.path().extension() == ".sqlite") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A rule of a team's, with the body of its evaluate(trace, options).
inline std::string rule_text(const std::string& id, const std::string& body) {
  return "return {\n  id = '" + id +
         "', category = 'team', title = 'A rule of the team', since = '1', needs = {},\n"
         "  options = { share = { default = 0.5, unit = 'fraction', doc = 'How much.' }, loud = { "
         "default = false, unit = '', doc = 'Whether.' }, word = { default = 'a', unit = '', doc = "
         "'Which.' } },\n"
         "  messages = { main = 'Share {share:fraction}.' }, doc = { what = 'A.', why = 'B.', fix "
         "= 'C.', wrong = 'D.' },\n"
         "  evaluate = function(trace, options)\n" +
         body + "\n  end,\n}\n";
}

/// A body that finds something worth so much of the window.
inline std::string finds(const std::string& share) {
  return "    return { { message = 'main', data = { share = " + share +
         " }, subject = 'it', recoverable_ns = " + share +
         " * trace:fact 'steps.total_ns', advice = { 'Do it.' } } }";
}

}  // namespace support
