// What a team writes its own rules with: new-rule, test, docs, config, suppressions.
#include <lua.hpp>

#include <set>

#include "program.hpp"
#include "report/docs.hpp"
#include "rules/binding.hpp"
#include "rules/new_rule.hpp"
#include "rules/rule_test.hpp"
#include "rules/sandbox.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// Every name that the sandbox knows: "pairs", "string.format".
std::set<std::string> sandbox_names() {
  gh::LuaSandbox sandbox;
  sandbox.load(
      "local t = {} for k, v in pairs(_G) do if k ~= '_G' then if type(v) == 'table' then for n in "
      "pairs(v) do t[#t + 1] = k .. '.' .. n end else t[#t + 1] = k end end end return "
      "table.concat(t, ' ')",
      "names");
  const std::string text = lua_tostring(sandbox.state(), -1);
  std::set<std::string> names;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    names.insert(text.substr(at, space - at));
    at = space + 1;
  }
  return names;
}

std::set<std::string> documented_names() {
  std::set<std::string> names;
  for (const gh::ApiEntry& e : gh::api_entries()) {
    const std::string text = e.name;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t space = std::min(text.find(' ', at), text.size());
      if (const std::string name = text.substr(at, space - at); name.find(':') == name.npos)
        names.insert(name);
      at = space + 1;
    }
  }
  return names;
}

}  // namespace

TEST_CASE("kit: all that a rule can call is documented, and nothing else") {
  CHECK(sandbox_names() == documented_names());
  for (const gh::ApiEntry& e : gh::api_entries())
    CHECK_MESSAGE(std::string(e.doc).size() > 4, e.name);
}

TEST_CASE("kit: generated files are as the program makes them") {
  // Made anew with: build/release/tests/engine_tests -tc='kit: generated*' and GH_UPDATE_GOLDEN=1.
  for (const auto& [path, text] :
       {std::pair<std::string, std::string>{GH_SOURCE_DIR "/schemas/gh.lua", gh::editor_stubs()},
        {GH_SOURCE_DIR "/.luacheckrc", gh::luacheck_configuration()}}) {
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(path, text);
    CHECK_MESSAGE(read_file(path) == text, path, " is stale");
  }
}

TEST_CASE("kit: luacheck finds nothing in the rules, and finds what the sandbox has not") {
  CHECK(shell("cd '" GH_SOURCE_DIR "' && luacheck --quiet rules").status == 0);
  const TempDir dir;
  write_file(dir / "bad.lua", "return os.time() + string.find('a', 'b')");
  const Ran ran = shell("cd '" GH_SOURCE_DIR "' && luacheck --config .luacheckrc '" +
                        (dir / "bad.lua").string() + "'");
  CHECK(ran.status != 0);
  CHECK(contains(ran.out, "os"));
  CHECK(contains(ran.out, "find"));
}

TEST_CASE("kit: a new rule is valid and its tests pass") {
  const TempDir dir;
  const std::string in = " --in '" + (dir / "team").string() + "'";
  const Ran made = advise("new-rule comm/tiny-collectives" + in);
  CHECK(made.status == 0);
  CHECK(contains(made.out, "comm/tiny-collectives.test.lua"));
  const Ran tested = advise("test '" + (dir / "team").string() + "'");
  CHECK(tested.status == 0);
  CHECK(tested.out == "3 passed, 0 failed\n");
  CHECK(contains(advise("explain tiny-collectives --rules '" + (dir / "team").string() + "'").out,
                 "category comm"));
  CHECK(shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet '" +
              (dir / "team").string() + "'")
            .status == 0);
  CHECK(contains(advise("new-rule comm/tiny-collectives" + in).err,
                 "is there already"));  // nothing is overwritten
  for (const char* name : {"tiny", "Comm/x", "comm/", "/x", "comm/a/b", "'comm/a b'"})
    CHECK_MESSAGE(advise(std::string("new-rule ") + name + in).status == 2, name);
}

TEST_CASE("kit: cases by name, and snapshots") {
  const TempDir dir;
  const gh::NewRule made = gh::make_rule("team", "copies");
  write_file(dir / "copies.lua", made.rule);
  write_file(dir / "copies.test.lua",
             "return { { name = 'first', trace = { ops = { { 0, 300, copy = 'h2d', bytes = 1048576 "
             "}, { 300, 900, kernel = 'gemm' } } }, expect = 'snapshot' },\n"
             "  { name = 'second', trace = { ops = { { 0, 900, kernel = 'gemm' } } }, expect = "
             "'clean' } }");
  const std::string test = "test '" + (dir / "").string() + "'";
  CHECK(advise(test + " --filter sec*").out == "1 passed, 0 failed\n");
  CHECK(advise(test + " --filter copies").status == 1);
  CHECK(contains(advise(test).out, "run again with --update"));
  CHECK(contains(advise(test + " --filter none").err, "no case and no rule has such a name"));
  CHECK(advise(test + " --update").status == 0);
  CHECK(contains(read_file(dir / "copies.snapshot"),
                 "[first]\nerror 'copies from the host', worth at most 0.333"));
  CHECK(advise(test).status == 0);
  write_file(dir / "copies.snapshot", "[first]\nclean\n\n");
  const Ran changed = advise(test);
  CHECK(changed.status == 1);
  CHECK(contains(changed.out, "copies.test.lua:1: first"));
}

TEST_CASE(
    "kit: documentation has a page for each rule, with what it says, and one for everything else") {
  const TempDir dir;
  CHECK(advise("docs --out '" + (dir / "docs").string() + "'").status == 0);
  const std::string index = read_file(dir / "docs/index.md"),
                    api = read_file(dir / "docs/writing-rules.md"),
                    facts = read_file(dir / "docs/facts.md");
  for (const gh::Rule& rule : gh::own_rules()) {
    CAPTURE(rule.id);
    CHECK(contains(index, "rules/" + rule.id + ".md"));
    const std::string page = read_file(dir / ("docs/rules/" + rule.id + ".md"));
    for (const char* part :
         {"## What it does", "## Why it matters", "## How to fix it", "## When it is wrong"})
      CHECK_MESSAGE(contains(page, part), part);
    CHECK(contains(page, "## What it says"));
    CHECK(contains(page, ": " + rule.title));  // a finding of its own
    for (const auto& [name, option] : rule.options)
      CHECK_MESSAGE(contains(page, "| `" + name + "` | "), name);
  }
  for (const gh::ApiEntry& e : gh::api_entries()) CHECK_MESSAGE(contains(api, e.name), e.name);
  CHECK(contains(facts, "| `mfu.upper_bound_fraction` | fraction |"));
  for (const gh::ConfigKey& k : gh::config_keys())
    CHECK_MESSAGE(
        contains(read_file(dir / "docs/configuration.md"), std::string("`") + k.name + "`"),
        k.name);
  CHECK(contains(read_file(dir / "docs/json-schemas.md"), "\"schema_version\""));
}

TEST_CASE("kit: the configuration in effect says where each value comes from") {
  const TempDir dir;
  CHECK(contains(advise("config", {"", dir / ""}).out, "# no gh-advise.toml here or above"));
  write_file(dir / "gh-advise.toml",
             "ignore = ['comm']\n\n[rule.host-sync]\nshare = 0.1\nseverity = 'note'\n");
  const std::string text = advise("config", {"", dir / ""}).out;
  CHECK(contains(text, "ignore = [\"comm\"]"));
  const auto line = [&](const std::string& start) {
    for (const std::string& l : lines_of(text.substr(text.find("[rule.host-sync]"))))
      if (l.starts_with(start)) return l;
    return std::string("none");
  };
  CHECK(line("share = 0.1 ").ends_with("gh-advise.toml:4"));
  CHECK(line("severity = \"note\"").ends_with("gh-advise.toml:5"));
  CHECK(contains(text, "# default"));
}

TEST_CASE(
    "kit: suppressions take a finding out, for a reason and until a day, and those of no use are "
    "told") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "starved.sqlite");
  const auto with = [&](const std::string& text, const std::string& more = "") {
    write_file(dir / "gh-advise.toml", text);
    return advise("starved.sqlite " + more, {"", dir / ""});
  };
  const std::string one =
      "[[suppress]]\nrule = 'data-loader-starvation'\nreason = 'the new loader lands in May'\n";
  const Ran ran = with(one + "until = 2999-12-31\n", "--select input --fail-on note");
  CHECK(ran.status == 0);  // it counts no more
  CHECK(ran.err == "");
  CHECK(contains(
      ran.out,
      "Suppressed: data-loader-starvation: the new loader lands in May, until 2999-12-31"));
  CHECK(!contains(ran.out, "1. error"));
  const auto json = json_of(with(one, "--select input --format json"));
  CHECK(json["findings"].empty());
  CHECK(json["suppressed"][0]["rule"] == "data-loader-starvation");
  CHECK(json["suppressions"][0]["state"] == "used");

  const Ran expired = with(one + "until = 1999-12-31\n", "--select input");
  CHECK(contains(expired.out, "1. error: The GPU waits for the data loader"));
  CHECK(contains(
      expired.err,
      "gh-advise.toml:1: the suppression of data-loader-starvation expired after 1999-12-31"));
  const Ran unused =
      with("[[suppress]]\nrule = 'data-loader-starvation'\nsubject = 'another *'\nreason = 'x'\n",
           "--select input");
  CHECK(contains(unused.err, "matches nothing any more"));
  CHECK(with("[[suppress]]\nrule = 'host-sync'\nreason = 'x'\n", "--select input").err ==
        "");  // it did not look
  CHECK(contains(
      with("[[suppress]]\nrule = 'host-snyc'\nreason = 'x'\n").err,
      "gh-advise.toml:1: there is no rule 'host-snyc' to suppress (did you mean 'host-sync'?)"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\n").err, "needs 'rule' and 'reason'"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\nreason = ' '\n").err, "needs a reason"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\nreason = 'x'\nuntil = 'May'\n").err,
                 "'until' has to be a date, as in 2026-12-31"));
}

TEST_CASE("kit: the rule of docs/ passes the tests of docs/, and configurations are read") {
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
  CHECK(advise("test '" + (dir / "perf/rules").string() + "'").out == "5 passed, 0 failed\n");
  CHECK(shell("luacheck --config '" GH_SOURCE_DIR "/.luacheckrc' --quiet '" +
              (dir / "perf").string() + "'")
            .status == 0);
  write_file(dir / "gh-advise.toml", block(configuration, "toml", "rules = "));
  const Ran config = advise("config", {"", dir / ""});
  CHECK(config.err == "");
  CHECK(contains(config.out, "[rule.tiny-collectives]"));
  // The page on CI: red, then green, with its budgets.
  write_file(dir / "gate.toml", block(gate, "toml", "[gate]"));
  const std::string with = " --config '" + (dir / "gate.toml").string() + "'",
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
