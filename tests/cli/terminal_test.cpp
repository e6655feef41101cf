// Color, width and the line that says what is being done: on a terminal only.
#include "support/program.hpp"

using namespace support;

TEST_CASE("terminal: color is there only, and only where it is wanted") {
  const auto colored = [](const Ran& ran) { return contains(ran.out, "\x1b["); };
  for (const char* command :
       {"starved.sqlite", "facts starved.sqlite", "rules", "explain unfused-softmax"}) {
    INFO(command);
    const Ran shown = on_terminal(command);
    CHECK(colored(shown));
    CHECK(!colored(advise(command)));
    CHECK(!colored(on_terminal(command, {"NO_COLOR=1"})));
    CHECK(!colored(on_terminal(command, {"TERM=dumb"})));
    CHECK(colored(on_terminal(command, {"NO_COLOR="})));  // empty is not set (no-color.org)
    CHECK(on_terminal(command, {"NO_COLOR=1"}).out == advise(command).out);
  }
  CHECK(!colored(on_terminal("starved.sqlite --format json")));
  CHECK(!colored(on_terminal("starved.sqlite | cat")));
  const TempDir dir;
  for (const char* command : {"starved.sqlite", "facts starved.sqlite", "rules"}) {
    on_terminal(command + std::string(" --output ") + quoted(dir / "out"));
    CHECK(!contains(read_file(dir / "out"), "\x1b["));
  }
  CHECK(on_terminal("starved.sqlite").status == 0);
}

TEST_CASE("terminal: --color=always colors a pipe, --color=never no terminal") {
  const auto colored = [](const Ran& ran) { return contains(ran.out, "\x1b["); };
  for (const char* command :
       {"starved.sqlite", "facts starved.sqlite", "rules", "explain unfused-softmax"}) {
    INFO(command);
    const std::string always = command + std::string(" --color=always");
    const std::string never = command + std::string(" --color=never");
    CHECK(colored(advise(always)));
    CHECK(colored(advise(always, {"NO_COLOR=1"})));  // what is asked for comes before a habit
    CHECK(!colored(on_terminal(never)));
    CHECK(on_terminal(never).out == advise(command).out);
    CHECK(advise(command + std::string(" --color auto")).out == advise(command).out);
  }
  CHECK(!colored(advise("starved.sqlite --color=always --format json")));
  CHECK(contains(error_line("starved.sqlite --color=sometimes"), "always"));
  CHECK(contains(error_line("starved.sqlite -v -q"), "contradict each other"));
}

TEST_CASE("terminal: its width is respected, and COLUMNS comes first" * slow_with_sanitizers) {
  for (const int columns : {60, 75, 120})
    CHECK(on_terminal("starved.sqlite", {"NO_COLOR=1"}, columns).out ==
          advise("starved.sqlite", {"COLUMNS=" + std::to_string(columns)}).out);
  CHECK(on_terminal("starved.sqlite", {"NO_COLOR=1 COLUMNS=70"}, 120).out ==
        advise("starved.sqlite", {"COLUMNS=70"}).out);
  CHECK(advise("starved.sqlite").out == advise("starved.sqlite", {"COLUMNS=100"}).out);
  CHECK(advise("starved.sqlite", {"COLUMNS=junk"}).out == advise("starved.sqlite").out);
  for (const char* command :
       {"starved.sqlite", "explain unfused-softmax", "rules", "facts starved.sqlite"})
    CHECK(advise(command, {"COLUMNS=70"}).out != advise(command, {"COLUMNS=90"}).out);
}

TEST_CASE("terminal: a line says what is being done to whom waits, and only there" *
          slow_with_sanitizers) {
  // Reports enough for some seconds; the first sight of the line ends it.
  std::string many;
  const int reports = 8;
  for (int i = 0; i < reports; ++i) many += " eager-autogradnvtx.sqlite";
  const Ran shown =
      shell("script -qec \"'" GH_PROGRAM "'" + many + " >/dev/null\" /dev/null | head -c 80");
  CHECK(shown.out.starts_with("\r\x1b[K"));
  CHECK(contains(shown.out, "ing eager-autogradnvtx.sqlite ("));
  CHECK(contains(shown.out, " of " + std::to_string(reports) + ") ... "));
  CHECK(shell("timeout -s KILL 2 '" GH_PROGRAM "'" + many + " 2>&1 >/dev/null").out == "");
}
