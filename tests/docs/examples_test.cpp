// What the documentation shows works.
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("documentation: its rule passes its tests, and its configuration is read") {
  const std::string cookbook = read_file(GH_SOURCE_DIR "/docs/rule-cookbook.md"),
                    configuration = read_file(GH_SOURCE_DIR "/docs/configuration.md"),
                    gate = read_file(GH_SOURCE_DIR "/docs/gate.md");
  const auto block = [](const std::string& page, const std::string& language,
                        const std::string& start) {
    const std::size_t from = page.find("```" + language + "\n" + start);
    REQUIRE(from != page.npos);
    const std::size_t text = from + 4 + language.size();
    return page.substr(text, page.find("```", text) - text);
  };
  const TempDir dir;
  fs::create_directories(dir / "perf/rules/comm");
  write_file(dir / "perf/rules/comm/tiny-collectives.lua",
             block(cookbook, "lua", "return {\n  id = \"tiny-collectives\""));
  write_file(dir / "perf/rules/comm/tiny-collectives.test.lua",
             block(cookbook, "lua", "-- Six steps"));
  CHECK(advise("test " + quoted(dir / "perf/rules")).out == "5 passed, 0 failed\n");
  CHECK(shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet " + quoted(dir / "perf"))
            .status == 0);
  write_file(dir / "gh-advise.toml", block(configuration, "toml", "rules = "));
  const Ran config = advise("config", {"", dir / ""});
  CHECK(config.err == "");
  CHECK(contains(config.out, "[rule.tiny-collectives]"));
  // The page on CI: red, then green, with its budgets.
  write_file(dir / "gate.toml", block(gate, "toml", "[gate]"));
  const std::string with = " --config " + quoted(dir / "gate.toml"),
                    base = (dir / "baseline.json").string();
  CHECK(advise("baseline good.sqlite -o '" + base + "'").status == 0);
  const Ran red = advise("gate starved.sqlite --baseline '" + base + "'"),
            green = advise("gate fed.sqlite --baseline '" + base + "'");
  CHECK(red.status == 1);
  const std::string shown = gate.substr(gate.find("```\nRegressed: ") + 4);
  CHECK(red.out.starts_with(shown.substr(0, shown.find("```"))));
  CHECK(green.status == 0);
  CHECK(contains(gate, "    " + green.out.substr(0, green.out.find('\n') + 1)));
  CHECK(contains(advise("gate starved.sqlite --baseline '" + base + "'" + with).out,
                 "account.idle.input_fraction is 71 %; the budget is at most 10 %"));
}

TEST_CASE("documentation: it shows the example of the library that is built") {
  CHECK(contains(read_file(GH_SOURCE_DIR "/docs/library.md"),
                 "```cpp\n" + read_file(GH_SOURCE_DIR "/tests/library/findings.cpp") + "```"));
}
