// What the documentation shows works, and what it says that the program prints is what it prints.
// GH_UPDATE_GOLDEN=1 build/release/tests/engine_tests -tc='documentation:*' writes outputs anew.
#include <regex>

#include "advise.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// README.md and the pages of docs/, those of rules aside.
std::vector<fs::path> pages_with_examples() {
  std::vector<fs::path> pages{GH_SOURCE_DIR "/README.md"};
  for (const auto& entry : fs::directory_iterator(GH_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

// A shell that knows the program as users do, in the folder of the recorded reports.
Ran as_shown(const std::string& command) {
  return shell("true\ngh-advise() { '" GH_PROGRAM "' \"$@\"; }\n" + command);
}

// The first thing that a team's rule says of a recorded report.
std::string said(const std::string& rule, const std::string& report) {
  const gh::Analysis analysis(gh::read_report(GH_FIXTURES "/" + report), gh::Classes(), {});
  const gh::Facts facts(analysis);
  const gh::Report found =
      gh::evaluate({gh::load_rule(rule, "recipe.lua")}, analysis, facts, {}, true);
  for (const auto& failed : found.failed) return failed.error;
  return found.findings.empty() ? "" : found.findings.front().message;
}

}  // namespace

TEST_CASE(
    "documentation: each recipe is a rule that says of a recorded report what the page says") {
  const fs::path path = GH_SOURCE_DIR "/docs/rule-cookbook.md";
  std::string page = read_file(path);
  const TempDir dir;
  const std::regex shown(
      R"(gh-advise (\S+) --rules my-rules --select ([a-z0-9-]+)[^>`]*`?[^>]*\n> ([^\n]*)\n)");
  std::size_t recipes = 0, rule_ends = 0;
  for (std::size_t from;
       (from = page.find("```lua\nreturn {\n  id = \"", rule_ends)) != page.npos;) {
    const std::size_t start = from + 7, end = page.find("\n```\n", start);
    const std::string rule = page.substr(start, end + 1 - start);
    rule_ends = end;
    const std::string after = page.substr(end);
    std::smatch match;
    REQUIRE(std::regex_search(after, match, shown));
    const std::string report = match[1], id = match[2], written = match[3];
    CAPTURE(id);
    CHECK(contains(rule, "id = \"" + id + "\","));
    write_file(dir / (id + ".lua"), rule);
    const bool tutorial = recipes++ == 0;
    CHECK(lines_of(rule).size() <= (tutorial ? 60 : 40));
    const std::string message = said(rule, report);
    CHECK_MESSAGE(message != "", id, " finds nothing in ", report);
    if (std::getenv("GH_UPDATE_GOLDEN"))
      page.replace(end + static_cast<std::size_t>(match.position(3)), written.size(), message);
    else
      CHECK(written == message);
  }
  CHECK(recipes > 10);
  if (std::getenv("GH_UPDATE_GOLDEN")) write_file(path, page);
  CHECK(shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet " + quoted(dir / ""))
            .status == 0);
}

// A block after <!-- output of `COMMAND` --> is what the command prints in the folder of fixtures.
TEST_CASE("documentation: outputs are what the program prints") {
  std::size_t blocks = 0;
  for (const fs::path& path : pages_with_examples()) {
    std::string page = read_file(path);
    const std::string mark = "<!-- output of `";
    for (std::size_t at = 0; (at = page.find(mark, at)) != page.npos;) {
      ++blocks;
      at += mark.size();
      const std::string command = page.substr(at, page.find("` -->\n```\n", at) - at);
      const std::size_t start = at + command.size() + std::string("` -->\n```\n").size();
      const std::size_t length = page.find("```\n", start) - start;
      const std::string printed = as_shown(command).out;
      CHECK_MESSAGE(printed != "", path, ": nothing is printed by ", command);
      if (std::getenv("GH_UPDATE_GOLDEN"))
        page.replace(start, length, printed);
      else
        CHECK_MESSAGE(page.substr(start, length) == printed, path, ": stale output of ", command);
    }
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(path, page);
  }
  CHECK(blocks >= 3);
}

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
  fs::create_directories(dir / "my-rules/comm");
  write_file(dir / "my-rules/comm/tiny-collectives.lua",
             block(cookbook, "lua", "return {\n  id = \"tiny-collectives\""));
  write_file(dir / "my-rules/comm/tiny-collectives.test.lua",
             block(cookbook, "lua", "-- Six steps"));
  CHECK(advise("test " + quoted(dir / "my-rules")).out == "5 passed, 0 failed\n");
  CHECK(
      shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet " + quoted(dir / "my-rules"))
          .status == 0);
  fs::create_directory(dir / "perf");  // where the configuration has the team's rules
  fs::create_directory_symlink(dir / "my-rules", dir / "perf/rules");
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
