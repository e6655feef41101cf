// Malicious or just wrong rules in the real program: each is stopped and named, and the others
// still run.
#include <fmt/format.h>

#include "base/text.hpp"
#include "rules/literal_trace.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// Limits memory and time for what follows in a shell. Sanitizers reserve more addresses than there
// is memory.
const std::string bounded = sanitized ? "ulimit -t 300; " : "ulimit -v 4000000; ulimit -t 60; ";

// Runs a rule with this body on a small report, with little memory and time.
Ran with_rule(const TempDir& dir, const std::string& body) {
  write_file(dir / "hostile.lua", rule_text("hostile", body));
  return shell(bounded +
               "exec '" GH_PROGRAM
               "' compile-graphs.sqlite -v --select hostile,step-outlier --rules " +
               quoted(dir / ""));
}

const std::string any_finding =
    "{ message = 'main', data = { share = 0.1 }, subject = 'it', recoverable_ns = 1, advice = { "
    "'Do it.' } }";

}  // namespace

TEST_CASE("hostile rules: each is stopped and named, and the others still run") {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::string>> hostile{
      // Endless.
      {"while true do end", "endless loop?"},
      {"while true do pcall(error) end", "endless loop?"},
      {"pcall(function() while true do end end) while true do end", "endless loop?"},
      {"local t = setmetatable({}, { __index = function(t, k) return t[k .. 'x'] end }) return t.x",
       ""},
      {"local t = {} for i = 1, 1e18 do t[i % 7] = i end", "endless loop?"},
      {"return xpcall(function() error {} end, function() while true do end end)", "endless loop?"},
      {"for i = 1, 1e9 do trace:ops { kind = 'kernel' }:count() end", "endless loop?"},
      {"local s = trace:ops {} for i = 1, 1e9 do s:plus(s):union_ns() end", ""},
      // Endless in C functions, which Lua's hook does not see.
      {"local s = string.rep('a', 1048000) local q = {} for i = 1, 1000000 do q[i] = s end "
       "table.sort(q) return {}",
       "endless loop?"},
      {"local s = string.rep('a', 1048000) local q = {} for i = 1, 100000 do q[i] = s end "
       "table.sort(q, string.upper) return {}",
       "endless loop?"},
      {"local b = {} for i = 2000001, 2200000 do b[i] = 1 end return "
       "table.unpack(setmetatable(b, { __index = next }), 1, 200000)",
       "table functions do not accept a table with __index"},
      // Greedy.
      {"local t = {} for i = 1, 1e9 do t[i] = i end", "more than 64 MiB"},
      {"local t = {} while true do t = { t, t } end", ""},
      {"local held = {} for i = 1, 1e9 do held[i] = trace:ops {} end", ""},
      {"local held = {} for i = 1, 1e9 do held[i] = trace:runs { of = trace:ops {}, least = 1 } "
       "end",
       ""},
      {"local k, w = trace:ops {}, {} for i = 1, 1e6 do w[i] = k end trace:chains { centre = k, "
       "edge = k, through = k, with = w }",
       "'with' takes at most 16 selections"},
      {"local k = trace:ops {} for i = 1, 1e9 do trace:chains { centre = k, edge = k:minus(k), "
       "through = k, most = 1e9 } end",
       ""},
      {"trace:chains { centre = trace:ops {}, edge = trace:ops {}, through = trace:ops {}, with = "
       "{ trace:calls {} } }",
       "'with' takes selections of operations"},
      // Deep.
      {"local function f() return 1 + f() end return f()",
       "rule used more than 64 MiB (endless recursion?)"},
      {"local function f() return pcall(f) and 1 end return f()", ""},
      {"local t = {} for i = 1, 2e5 do t = { t } end return { { message = t } }",
       "needs 'message', a string"},
      // Huge.
      {"return { { message = 'main', data = { share = 1 }, subject = string.rep('x', 1e9) } }",
       "resulting string too large"},
      {"local s = 'x' while true do s = s .. s end", "more than 1 MiB"},
      {"local f = " + any_finding + " f.subject = string.rep('x', 1e6) return { f }",
       "'subject' is longer than 16 KiB"},
      {"local f = " + any_finding + " f.advice = { string.rep('x', 1e6) } return { f }",
       "'advice' is longer than 16 KiB"},
      {"local f = " + any_finding + " for i = 1, 1e5 do f.advice[i] = 'Do it.' end return { f }",
       "'advice' has more than 1000 elements"},
      {"local f = " + any_finding +
           " f.metrics = {} for i = 1, 1e5 do f.metrics[i] = { name = 'a', value = 1, unit = "
           "'count' } end return { f }",
       "'metrics' has more than 1000 elements"},
      // Thousands of findings.
      {"local all = {} for i = 1, 5000 do all[i] = " + any_finding +
           " all[i].subject = 'it ' .. i end return all",
       "more than 200 findings"},
      {"local all = {} for i = 1, 180 do all[i] = " + any_finding +
           " all[i].subject = 'it ' .. i all[i].change = { { remove = trace:ops {} } } end return "
           "all",
       "have changes to replay"},
      // Evidence outside of the trace.
      {"local f = " + any_finding +
           " f.evidence = { { start_ns = 0, end_ns = math.maxinteger } } return { f }",
       "evidence outside of the trace"},
      {"local f = " + any_finding +
           " f.evidence = { { start_ns = math.mininteger, end_ns = 0 } } return { f }",
       "evidence outside of the trace"},
      {"local f = " + any_finding + " f.evidence = { {} } return { f }",
       "evidence outside of the trace"},
      {"local f = " + any_finding + " f.evidence = 7 return { f }", "'evidence' must be a list"},
      // Not a finding.
      {"return { setmetatable({}, { __index = function() while true do end end }) }",
       "needs 'message', a string"},
      {"return setmetatable({}, { __index = function(t, i) return " + any_finding +
           " end, __len = function() return 1e9 end })",
       "none"},
      {"return { { message = 'main', data = { share = 0/0 } } }", "not a finite number"},
      // Selections where there is no room on Lua's stack, and where there are none.
      {"local k, st = trace:ops {}, {} for i = 1, 28 do st[i] = k end local f = " + any_finding +
           " f.change = { { shorten = k, stalls = st } } return { f }",
       "'stalls' of a change has more than 16 elements"},
      {"local k, st = trace:ops {}, {} for i = 1, 1000 do st[i] = k end local f = " + any_finding +
           " f.change = { { shorten = k, stalls = st } } return { f }",
       "'stalls' of a change has more than 16 elements"},
      {"local f = " + any_finding +
           " f.change = { { shorten = trace:ops {}, stalls = { 7 } } } return { f }",
       "each of 'stalls' of a change must be a selection"},
      {"local k, all = trace:ops {}, {} for i = 1, 1e4 do all[i] = { remove = k } end local f = " +
           any_finding + " f.change = all return { f }",
       "'change' of a finding has more than 100 elements"},
      {"local f = " + any_finding +
           " f.change = setmetatable({}, { __index = function() error 'boom' end }) f.change[1] = "
           "setmetatable({}, { __index = function() return trace:ops {} end }) return { f }",
       "a change needs one of remove"},
      {"local f = " + any_finding +
           " f.change = {} for i = 1, 50 do f.change[i] = { scale = trace:ops {}, by = 1e300, most "
           "= 1e308 } end return { f }",
       "none"},
      {"local f = " + any_finding +
           " f.change = { { scale = trace:ops {}, by = 0/0 } } return { f }",
       "'by' is not a finite number"},
      // Metatables are not consulted, so that nothing is collected while a verb uses it.
      {"trace:chains(setmetatable({}, { __index = function() return trace:ops {} end }))",
       "chains needs 'centre', 'edge' and 'through'"},
      {"trace:runs(setmetatable({}, { __index = function() error 'boom' end }))",
       "runs needs 'of', a selection of operations"},
      // Invalid arguments.
      {"trace.ops {}", "gh.trace expected"},
      {"trace:ops(7)", "a filter must be a table"},
      {"trace:ops { name = 7 }", "'name' takes a string or a list of strings"},
      {"trace:ops { [true] = 1 }", "every key must be a name"},
      {"trace:ops { min_ns = 'x' }", "filter 'min_ns' takes a number"},
      {"trace:ops { inside = {} }", "filter 'inside' must be a selection"},
      {"trace:ops {}:where { after = 7 }", "filter 'after' must be a selection"},
      {"trace:ops {}:top(1, {})", "string expected"},
      {"trace:ops {}:evidence { mots = 1 }", "unknown key 'mots' (did you mean 'most'?)"},
      {"trace:sampled_fraction { 7 }", "must be a table"},
      // Copies of Lua's texts.
      {"local s, l = string.rep('x', 1e6), {} for i = 1, 2e5 do l[i] = s end trace:ops { name = l "
       "}",
       "a pattern is longer than 1024 bytes"},
      {"local l = {} for i = 1, 2e5 do l[i] = '*a' end trace:ops { name = l }",
       "'name' has more than 200 elements"},
      {"local t = {} for i = 1, 1e5 do t['k' .. i] = i end trace:ops(t)",
       "a filter has more than 1000 keys"},
      {"local s = string.rep('*a', 500) for i = 1, 1e9 do trace:ops { name = { s, s, s } } end",
       ""},
      {"local s = string.rep('x', 16000) for i = 1, 1e9 do pcall(trace.fact, trace, s) end",
       "more than 8 MiB of text"},
      {"local a = {} for i = 1, 1000 do a[i] = string.rep('x', 16000) end local f = " +
           any_finding + " f.advice = a local all = {} for i = 1, 200 do all[i] = f end return all",
       "rule passed more than 8 MiB of text"},
      {"local e = {} for i = 1, 100 do e[i] = { start_ns = 0, end_ns = 0, name = string.rep('x', "
       "16000), note = string.rep('x', 16000) } end local f = " +
           any_finding +
           " f.evidence = e local all = {} for i = 1, 200 do all[i] = f end return all",
       ""},
      {"error(setmetatable({}, { __tostring = function() while true do end end }))",
       "the error is a table"},
      {"return nil, string.rep('x', 1e6)", "not checked"},
  };
  for (const auto& [body, what] : hostile) {
    INFO(body);
    const Ran ran = with_rule(dir, body);
    CHECK(ran.out.size() < 100'000);
    CHECK(contains(ran.out, "step-outlier"));
    if (what == "none" ||
        what == "not checked") {  // harmless: the metatable is ignored, and a long reason is cut
      CHECK(ran.status == 0);
      continue;
    }
    CHECK(ran.status == 2);
    CHECK_MESSAGE(ran.err.starts_with("gh-advise: rule hostile failed: "), ran.err);
    CHECK(lines_of(ran.err).size() == 1);
    CHECK_MESSAGE(contains(ran.err, what), ran.err);
    CHECK(contains(ran.out, "Rule failed: hostile"));
  }
}

TEST_CASE("hostile rules: invalid bytes become text in every format") {
  const TempDir dir;
  std::string rule = rule_text("hostile",
                               "return { { message = 'main', data = { share = 0.1 }, subject = "
                               "'a\\xFF', recoverable_ns = 1, advice = { 'Do \\xC3 it.' } } }");
  const std::size_t message = rule.find("main = '");
  REQUIRE(message != rule.npos);
  rule.insert(message + 8, "\\xFE ");
  write_file(dir / "hostile.lua", rule);
  for (const std::string format :
       {"text", "json", "markdown", "sarif", "github", "junit", "html"}) {
    INFO(format);
    const Ran ran = shell("'" GH_PROGRAM "' compile-graphs.sqlite -v --select hostile --format " +
                          format + " --rules " + quoted(dir / ""));
    CHECK(ran.err == "");
    CHECK(ran.status <= 1);
    CHECK(contains(ran.out, "\uFFFD "));
    CHECK(gh::valid_utf8(ran.out) == ran.out);
  }
}

TEST_CASE("hostile rules: a message of thousands of placeholders is no longer than any text") {
  const TempDir dir;
  std::string rule = rule_text("hostile",
                               "return { { message = 'main', data = { a = string.rep('x', 16000), "
                               "share = 0.1 }, subject = 'it', advice = { 'Do it.' } } }");
  const std::size_t message = rule.find("main = '");
  REQUIRE(message != rule.npos);
  const std::string before = rule.substr(0, message), after = rule.substr(message + 8);
  const auto error = [&](const std::string& text) {
    write_file(dir / "hostile.lua", before + text + after);
    return shell(bounded + "exec '" GH_PROGRAM "' compile-graphs.sqlite --rules " +
                 quoted(dir / "") + " --select hostile")
        .err;
  };
  CHECK(
      contains(error("main = string.rep('{a}', 5000) .. '"), "the message is longer than 16 KiB"));
  CHECK(contains(error("main = string.rep('{a}', 300000) .. '"), "'main' is longer than 16 KiB"));
}

TEST_CASE("hostile rules: their output contains no escape sequences") {
  const TempDir dir;
  const std::string evil = "'\\27]0;evil\\7\\27[31m'";
  std::string rule = rule_text(
      "hostile",
      "local k = trace:ops {} return { { message = 'main', data = { share = 0.1 }, subject = " +
          evil + ", recoverable_ns = 1e9, advice = { " + evil + " }, follows_from = " + evil +
          ", uncertain = " + evil + ", metrics = { { name = " + evil +
          ", value = 1, unit = 'count' } }, evidence = { { start_ns = k:top(1)[1].start_ns, end_ns "
          "= k:top(1)[1].end_ns, name = " +
          evil + ", note = " + evil + ", thread = " + evil + ", file = " + evil +
          ", line = 1 } } } }");
  for (const char* key : {"title = '", "what = '", "why = '", "fix = '", "wrong = '", "doc = '",
                          "unit = '", "main = '"}) {
    const std::size_t at = rule.find(key);
    REQUIRE(at != rule.npos);
    rule.insert(at + std::string_view(key).size(), "\\27[31m");
  }
  write_file(dir / "hostile.lua", rule);
  const auto is_clean = [](const std::string& text) {
    return text.find('\x1b') == text.npos && text.find('\a') == text.npos;
  };
  for (const std::string format :
       {"text", "json", "markdown", "sarif", "github", "junit", "html"}) {
    INFO(format);
    const Ran ran = shell("'" GH_PROGRAM "' compile-graphs.sqlite -v --select hostile --format " +
                          format + " --rules " + quoted(dir / ""));
    CHECK_MESSAGE(ran.status <= 1, ran.err);
    CHECK(contains(ran.out, "31m"));
    CHECK(is_clean(ran.out + ran.err));
  }
  for (const std::string& command : {std::string("rules"), std::string("explain hostile"),
                                     "docs --out " + quoted(dir / "docs")}) {
    INFO(command);
    const Ran ran = shell("'" GH_PROGRAM "' " + command + " --rules " + quoted(dir / ""));
    CHECK(is_clean(ran.out + ran.err));
  }
  for (const auto& page : fs::recursive_directory_iterator(dir / "docs"))
    if (page.is_regular_file()) CHECK(is_clean(read_file(page.path())));
}

TEST_CASE("hostile rules: a literal trace is limited to a thousand threads and streams") {
  const auto trace = [](const char* kind, const char* field, const char* value, int rows) {
    return fmt::format(
        "local rows = {{}} for i = 1, {} do rows[i] = {{ i, i, 'x', copy = 'h2d', {} = {} }} end "
        "return {{ {} = rows }}",
        rows, field, value, kind);
  };
  const std::string streams = trace("ops", "stream", "i", 1001);
  CHECK(gh::trace_from_text(trace("ops", "stream", "i", 1000)).streams.size() == 1000);
  CHECK(contains(error_of([&] { gh::trace_from_text(streams); }), "more than 1000 streams"));
  const std::string threads = trace("ops", "thread", "'t' .. i", 1001);
  CHECK(gh::trace_from_text(trace("ops", "thread", "'t' .. i", 1000)).threads.size() == 1000);
  CHECK(contains(error_of([&] { gh::trace_from_text(threads); }), "more than 1000 threads"));
}

TEST_CASE("hostile rules: files that fail to load, or are not files, are named") {
  const TempDir dir;
  const auto error = [&](const std::string& arguments) {
    const Ran ran = shell(bounded + "exec timeout 300 '" GH_PROGRAM "' " + arguments);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(lines_of(ran.err).size() == 1, ran.err);
    return ran.err;
  };
  const std::string report = "compile-graphs.sqlite --rules " + quoted(dir / "");
  for (const std::string text : {"while true do end", "local t = {} for i = 1, 1e9 do t[i] = i end",
                                 "local function f() return 1 + f() end return f()",
                                 "return string.rep('x', 1e9)", "\x1bLua", "return 7",
                                 "local s, q = string.rep('a', 1048000), {} for i = 1, 100000 do "
                                 "q[i] = s end table.sort(q, string.upper)",
                                 "local s, q = string.rep('a', 1048000), {} for i = 1, 1000000 do "
                                 "q[i] = s end table.sort(q)",
                                 "local t = {} t.__call = t setmetatable(t, t) t()"}) {
    INFO(text);
    write_file(dir / "hostile.lua", text);
    CHECK(contains(error(report), "hostile.lua"));
  }
  write_file(dir / "hostile.lua", "return " + std::string(100'000, '{'));
  error(report);
  write_file(dir / "hostile.lua", std::string(200 << 10, ' '));
  CHECK(contains(error(report), "longer than 128 KiB"));
  // An endless file is not a rule.
  fs::remove(dir / "hostile.lua");
  fs::create_symlink("/dev/zero", dir / "hostile.lua");
  CHECK(contains(error(report), "contains no rules"));
  fs::remove(dir / "hostile.lua");
  shell("mkfifo hostile.lua", {"", dir / ""});
  CHECK(contains(error(report), "contains no rules"));
  fs::remove(dir / "hostile.lua");
  shell("truncate -s 1G hostile.lua", {"", dir / ""});
  CHECK(contains(error(report), "is larger than 64 MiB"));
  fs::remove(dir / "hostile.lua");
  const Ran config = advise("compile-graphs.sqlite --config /dev/zero");
  CHECK(config.status == 2);
  CHECK(config.err == "gh-advise: /dev/zero: is not a file\n");
}
