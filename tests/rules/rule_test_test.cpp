// `gh-advise test`: cases next to rules, by name, and snapshots.
#include "rules/rule_test.hpp"

#include "rules/new_rule.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("rule tests: the cases next to rules run, and a failing one gives exit status 1") {
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
  CHECK(contains(error_line("test " + quoted(dir / "")), "contains no rule tests"));
  fs::create_directory(dir / "elsewhere");
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "elsewhere/renamed.sqlite");
  write_file(
      dir / "mine.test.lua",
      "return { { name = 'finds it', fixture = 'renamed', expect = { { subject = 'it' } } } }");
  CHECK(advise("test " + quoted(dir / "") + " --fixtures " + quoted(dir / "elsewhere")).status ==
        0);
}

TEST_CASE("rule tests: a malicious test file fails, and the next case still runs") {
  const TempDir dir;
  write_file(dir / "mine.lua", rule_text("mine", "return {}"));
  const auto run = [&](const std::string& cases) {
    write_file(dir / "mine.test.lua",
               "local function boom() error('boom') end\nlocal good = { name = 'good', trace = { "
               "ops = { { 0, 9, kernel = 'k' } } }, expect = 'clean' }\nreturn { " +
                   cases + " good }");
    const Ran ran = shell("ulimit -t 60; exec '" GH_PROGRAM "' test " + quoted(dir / ""));
    CHECK(ran.err == "");
    CHECK(ran.status <= 1);
    return ran.out;
  };
  const auto one_fails = [&](const std::string& one) {
    const std::string out = run(one + ", ");
    CHECK_MESSAGE(contains(out, "1 passed, 1 failed"), out);
    return out;
  };
  // Metatables are ignored.
  CHECK(contains(one_fails("setmetatable({ name = 'a' }, { __index = boom })"),
                 "a case needs 'trace' or 'fixture'"));
  CHECK(contains(one_fails("{ name = 'a', trace = setmetatable({}, { __index = boom }), expect = "
                           "'clean', options = setmetatable({ x = 1 }, { __index = boom }) }"),
                 "rule 'mine' has no option 'x'"));
  CHECK(contains(
      one_fails("{ name = 'a', trace = { ops = { { 0, 9, kernel = 'k' } } }, expect = { "
                "setmetatable({ worth = setmetatable({}, { __index = boom }) }, { __index = boom "
                "}) } }"),
      "expected  1 finding"));
  // More than a test may contain.
  CHECK(
      contains(one_fails("(function() local l = {} for i = 1, 2000 do l[i] = { i, i + 1, kernel = "
                         "'k' } end return { name = 'a', trace = { repeats = { times = 1000, "
                         "every = 9 }, ops = l }, expect = 'clean' } end)()"),
               "more than 250000 events"));
  CHECK(contains(one_fails("{ name = 'a', trace = { ops = { { 0, 1e300, kernel = 'k' } } }, expect "
                           "= 'clean' }"),
                 "a time in microseconds"));
  CHECK(contains(one_fails("{ name = 'a', trace = { ops = { { 0, 0/0, kernel = 'k' } } }, expect = "
                           "'clean' }"),
                 "ops[1] needs a number at position 2"));
  CHECK(
      contains(one_fails("{ name = 'a', trace = { ops = { { 0, 9, kernel = 'k', [true] = 1 } } }, "
                         "expect = 'clean' }"),
               "ops[1]: every key must be a name"));
  CHECK(contains(one_fails("{ name = 'a', trace = { ops = 7 }, expect = 'clean' }"),
                 "'ops' must be a list"));
  CHECK(contains(one_fails("{ name = 'a', fixture = '../../secret', expect = 'clean' }"),
                 "is not a fixture name"));
  // Endless in C functions, while loading.
  for (const std::string endless :
       {"table.sort(q)", "table.sort(q, string.upper)", "table.sort(q, rawequal)"}) {
    CHECK(contains(run("(function() local s, q = string.rep('a', 1048000), {} for i = 1, 200000 do "
                       "q[i] = s end " +
                       endless + " end)(), "),
                   "endless loop?"));
  }
  CHECK(contains(one_fails("{ name = 'a', trace = { ops = {} }, expect = { { message = "
                           "string.rep('*a', 1000) } } }"),
                 "the expected text is longer than 1024 bytes"));
  // Numbers out of a field's range are clamped.
  CHECK(contains(run("{ name = 'a', trace = { repeats = { times = 1e300, every = 1 }, device = { "
                     "sm_count = 1e300, compute = 1e300, memory_gib = -1e300 }, ops = { { 0, 1, "
                     "copy = 'h2d', bytes = 1e300, blocks = -5, threads = 1e9, address = 1/0, "
                     "stream = 1e300, rank = 1e9 } } }, expect = 'clean' }, "),
                 "2 passed, 0 failed"));
  // Texts of a case are printed as text.
  const std::string out =
      one_fails("{ name = 'a\\27[31m\\7', trace = { ops = {} }, expect = 'x\\27[2J' }");
  CHECK(contains(out, "a [31m"));
  CHECK(out.find('\x1b') == out.npos);
  // Not a list of cases.
  write_file(dir / "mine.test.lua",
             "return setmetatable({}, { __index = function() error('boom') end })");
  CHECK(
      contains(advise("test " + quoted(dir / "")).out, "a test file must return a list of cases"));
}

TEST_CASE("rule tests: cases are chosen by name, and snapshots compared") {
  const TempDir dir;
  const gh::NewRule made = gh::make_rule("team", "copies");
  write_file(dir / "copies.lua", made.rule);
  write_file(
      dir / "copies.test.lua",
      "return { { name = 'first', trace = { ops = { { 0, 3000, copy = 'h2d', bytes = 1048576 "
      "}, { 3000, 9000, kernel = 'gemm' } } }, expect = 'snapshot' },\n"
      "  { name = 'second', trace = { ops = { { 0, 900, kernel = 'gemm' } } }, expect = "
      "'clean' } }");
  const std::string test = "test " + quoted(dir / "");
  CHECK(advise(test + " --filter sec*").out == "1 passed, 0 failed\n");
  CHECK(advise(test + " --filter copies").status == 1);
  CHECK(contains(advise(test).out, "run again with --update"));
  CHECK(contains(advise(test + " --filter none").err, "no case or rule matches"));
  CHECK(advise(test + " --update").status == 0);
  CHECK(contains(read_file(dir / "copies.snapshot"),
                 "[first]\nerror 'copies from the host', worth at most 0.333"));
  CHECK(advise(test).status == 0);
  write_file(dir / "copies.snapshot", "[first]\nclean\n\n");
  const Ran changed = advise(test);
  CHECK(changed.status == 1);
  CHECK(contains(changed.out, "copies.test.lua:1: first"));
}
