// `gh-advise test`: cases beside rules, by name, and snapshots.
#include "rules/rule_test.hpp"

#include "rules/new_rule.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("rule tests: the cases beside rules run, and one that fails gives the exit status 1") {
  const TempDir dir;
  write_file(dir / "mine.lua", rule_text("mine", finds("0.9")));
  write_file(dir / "mine.test.lua",
             "return { { name = 'finds it', fixture = 'starved', expect = { { severity = 'error', "
             "subject = 'it' } } } }");
  const Ran good = advise("test " + quoted(dir / ""));
  CHECK(good.status == 0);
  CHECK(contains(good.out, "1 passed, 0 failed"));
  write_file(dir / "mine.test.lua",
             "return { { name = 'is clean', fixture = 'starved', expect = 'clean' } }");
  const Ran bad = advise("test " + quoted(dir / ""));
  CHECK(bad.status == 1);
  CHECK(contains(bad.out, "is clean"));
  CHECK(contains(bad.out, "0 passed, 1 failed"));
  fs::remove(dir / "mine.test.lua");
  CHECK(contains(error_line("test " + quoted(dir / "")), "holds no rule tests"));
  fs::create_directory(dir / "elsewhere");
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "elsewhere/renamed.sqlite");
  write_file(
      dir / "mine.test.lua",
      "return { { name = 'finds it', fixture = 'renamed', expect = { { subject = 'it' } } } }");
  CHECK(advise("test " + quoted(dir / "") + " --fixtures " + quoted(dir / "elsewhere")).status ==
        0);
}

TEST_CASE("rule tests: cases are chosen by name, and snapshots compared") {
  const TempDir dir;
  const gh::NewRule made = gh::make_rule("team", "copies");
  write_file(dir / "copies.lua", made.rule);
  write_file(dir / "copies.test.lua",
             "return { { name = 'first', trace = { ops = { { 0, 300, copy = 'h2d', bytes = 1048576 "
             "}, { 300, 900, kernel = 'gemm' } } }, expect = 'snapshot' },\n"
             "  { name = 'second', trace = { ops = { { 0, 900, kernel = 'gemm' } } }, expect = "
             "'clean' } }");
  const std::string test = "test " + quoted(dir / "");
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
