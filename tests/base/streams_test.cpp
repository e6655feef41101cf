// Text printed in a CI job runs no command there, and a standard stream that is closed, full or
// gone breaks nothing but the printing.
#include "base/streams.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/program.hpp"

using namespace support;
using gh::Commands;
using gh::without_commands;

TEST_CASE("streams: nothing printed is a CI command unless intended") {
  CHECK(without_commands("::warning::x\n") == ": :warning::x\n");
  CHECK(without_commands("a\n \t::set-output name=x::y") == "a\n \t: :set-output name=x::y");
  CHECK(without_commands("a\r::debug::y") == "a\r: :debug::y");
  CHECK(without_commands("\u00a0\u3000::stop-commands::t") == "\u00a0\u3000: :stop-commands::t");
  CHECK(without_commands("a ##[group]b ##vso[task.x]c ###[d ##teamcity[e") ==
        "a # #[group]b # #vso[task.x]c ## #[d # #teamcity[e");
  CHECK(without_commands("::error::##[group]\n", Commands::at_line_begin) ==
        "::error::# #[group]\n");
  for (const char* honest : {"", "at::native::softmax", "a ::b::c", "## Title", "${x##*/}", "a##b",
                             "##", "x\n", "{lambda()#1}::operator()"})
    CHECK(without_commands(honest) == honest);
}

TEST_CASE("streams: if nobody can read the messages, the program ends as it would otherwise" *
          doctest::skip(support::sanitized)) {
  const TempDir dir;
  write_file(dir / "gh-advise.toml",
             "[[suppress]]\nrule = 'unfused-norm'\nreason = 'x'\nuntil = 2020-01-01\n");
  for (const char* to : {"2>&-", "2>/dev/full"})
    for (const auto& [arguments, status] :
         {std::pair(GH_FIXTURES "/starved.sqlite", 0),  // which notes that a suppression expired
          {"missing.sqlite", 2},
          {"no-such-file.sqlite --no-such-option", 2},
          {GH_FIXTURES "/starved.sqlite --profile --fail-on error", 1}}) {
      INFO(arguments, " ", to);
      CHECK(advise(std::string(arguments) + " " + to, {"", dir / ""}).status == status);
    }
  for (const char* to : {">&-", ">/dev/full"}) {
    INFO(to);
    const Ran ran = advise(std::string("starved.sqlite ") + to);
    CHECK(ran.status == 2);
    CHECK(ran.err.starts_with("gh-advise: cannot write to standard output: "));
    CHECK(advise(std::string("starved.sqlite 2>&- ") + to).status == 2);
    CHECK(advise(std::string("starved.sqlite <&- 2>&- ") + to).status == 2);
  }
}

TEST_CASE(
    "streams: no opened file gets the number of a closed stream and then the program's output") {
  const TempDir dir;
  write_file(dir / "gh-advise.toml",
             "[[suppress]]\nrule = 'unfused-norm'\nreason = 'x'\nuntil = 2020-01-01\n");
  const std::string report = GH_FIXTURES "/starved.sqlite";
  const std::string before = read_file(report);
  CHECK(advise(report + " <&- >&- 2>&- --format json --output out.json", {"", dir / ""}).status ==
        0);
  CHECK(nlohmann::json::accept(read_file(dir / "out.json")));
  CHECK(read_file(report) == before);
}

namespace {

// Runs the program on a terminal that disappears meanwhile; returns what ended it, as the shell
// reports it.
int ended_without_terminal(bool hangup_is_ignored) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  REQUIRE(grantpt(terminal) == 0);
  REQUIRE(unlockpt(terminal) == 0);
  const std::string name = ptsname(terminal);
  std::vector<std::string> words{GH_PROGRAM, "check"};
  words.insert(words.end(), 20, GH_FIXTURES "/eager-autogradnvtx.sqlite");
  std::vector<char*> arguments;
  for (std::string& w : words) arguments.push_back(w.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int standard = open(name.c_str(), O_RDWR);  // its terminal from here on
    for (const int stream : {0, 1, 2}) dup2(standard, stream);
    signal(SIGHUP, hangup_is_ignored ? SIG_IGN : SIG_DFL);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  usleep(500'000);
  close(terminal);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("streams: losing the terminal ends the program with a hangup, or is an error" *
          doctest::skip(support::sanitized)) {
  CHECK(ended_without_terminal(false) == 128 + SIGHUP);
  CHECK(ended_without_terminal(true) == 2);  // the output could not be printed
}
