// Rules: their contract, how they are evaluated, and what the built-in ones report about every
// recording.
#include "rules/rules.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "base/embedded.hpp"
#include "read/read.hpp"
#include "rules/binding.hpp"
#include "rules/rule_test.hpp"
#include "rules/sandbox.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

using Settings = std::map<std::string, RuleSettings>;

// A rule's source around the body of its evaluate function.
std::string rule_source(const std::string& body, const std::string& id = "a-rule",
                        const std::string& more = "") {
  return "return { id = \"" + id +
         "\", category = \"tests\", title = \"A rule of the tests\", since = \"0.1\",\n" + more +
         "messages = { plain = \"Something is so.\", figures = \"{time:ns} of {count} {what}\" },\n"
         "doc = { what = \"a\", why = \"b\", fix = \"c\", wrong = \"d\" },\n"
         "evaluate = function(trace, options)\n" +
         body + "\nend }";
}

Rule rule(const std::string& body, const std::string& id = "a-rule", const std::string& more = "") {
  return load_rule(rule_source(body, id, more), id + ".lua");
}

// Source of a finding that saves a fraction of all steps.
std::string finding(const std::string& worth, const std::string& more = "") {
  return "{ subject = \"it\", message = \"plain\", recoverable_ns = " + worth +
         " * trace:total_ns()" + (more.empty() ? "" : ", " + more) + " }";
}

// Ten steps of 1 ms.
Trace ten_steps() {
  return trace_from_text(
      R"(return { repeats = { times = 11, every = 1000 }, ranges = { { 0, 900, "step {n}" } }, ops = { { 100, 600, kernel = "a" } } })");
}

Report evaluated(const std::vector<Rule>& rules, Trace trace, const Settings& settings = {}) {
  const Analysis analysis(std::move(trace), Classes(), {});
  const Facts facts(analysis);
  return evaluate(rules, analysis, facts, settings);
}

// The error of a rule that failed, or "".
std::string failure_of(const std::string& body) {
  const Report r = evaluated({rule(body)}, ten_steps());
  return r.failed.empty() ? "" : r.failed.front().error;
}

// Everything that a report contains, for comparisons.
std::string all_of(const Report& r) {
  std::string s;
  for (const Finding& f : r.findings) {
    s += f.rule + "|" + name_of(f.severity) + "|" + f.subject + "|" + f.message + "|" +
         std::to_string(f.recoverable_ns) + "|" + std::to_string(f.recoverable_fraction) + "|" +
         f.confidence + "|" + f.fingerprint;
    for (const std::string& a : f.advice) s += "|" + a;
    for (const Metric& m : f.metrics) s += "|" + m.name + "=" + std::to_string(m.value);
    for (const Evidence& e : f.evidence)
      s += "|" + std::to_string(e.span.start) + "-" + std::to_string(e.span.end) + e.name + e.note +
           e.thread;
    s += "\n";
  }
  for (const std::string& c : r.clean) s += "clean " + c + "\n";
  for (const NotChecked& n : r.not_checked)
    s += "not checked " + n.rule + ": " + n.reason + "|" + n.record_with + "\n";
  for (const Failed& f : r.failed) s += "failed " + f.rule + ": " + f.error + "\n";
  return s;
}

bool holds(const std::vector<std::string>& list, const std::string& what) {
  return std::find(list.begin(), list.end(), what) != list.end();
}

}  // namespace

TEST_CASE("the rules' own tests pass") {
  // With sanitizers those of one category: the others run the same code.
  const RuleTestResult result = run_rule_tests(
      std::filesystem::path(GH_SOURCE_DIR) / (support::sanitized ? "rules/memory" : "rules"),
      RuleTestOptions{.fixtures = GH_FIXTURES});
  INFO(result.output);
  CHECK(result.failed == 0);
  CHECK(result.passed > 100);
  CHECK_FALSE(contains(result.output, "has no test"));
}

TEST_CASE("rules: a message has the right words for one and for any other number") {
  const auto message = [](const std::string& n) {
    std::string source =
        rule_source("return { { subject = 'it', message = 'plain', data = { n = " + n +
                    " }, recoverable_ns = trace:total_ns() } }");
    const std::string plain = "Something is so.";
    source.replace(source.find(plain), plain.size(), "{n:# copy takes|# copies take} time.");
    return evaluated({load_rule(source, "a-rule.lua")}, ten_steps()).findings.at(0).message;
  };
  CHECK(message("1") == "1 copy takes time.");
  CHECK(message("0") == "0 copies take time.");
  CHECK(message("1.25") == "1.2 copies take time.");
  CHECK(message("12") == "12 copies take time.");
}

TEST_CASE("rules: a finding's title is the headline of its message, else the rule's title") {
  const auto found = [](const std::string& headlines) {
    const std::string source = rule_source(
        "return { { subject = 'it', message = 'plain', data = { n = 1, kind = 'norm' } } }",
        "a-rule", headlines);
    return evaluated({load_rule(source, "a-rule.lua")}, ten_steps()).findings.at(0);
  };
  const Finding plain = found("");
  CHECK(plain.title == "A rule of the tests");
  const Finding headed =
      found("headlines = { plain = \"{kind} runs as {n:# kernel|# kernels} a {unit}\" },");
  CHECK(headed.title == "norm runs as 1 kernel a step");
  // It is the same finding, whatever is written above it.
  CHECK(headed.fingerprint == plain.fingerprint);
  CHECK(found("headlines = { figures = \"{n}\" },").title == plain.title);
}

TEST_CASE("rules: the short fix is what stands before the {.} of the first advice") {
  const auto found = [](const std::string& advice) {
    const std::string source =
        rule_source("return { { subject = 'it', message = 'plain', data = { n = 4 } } }", "a-rule",
                    "advice = { " + advice + ", 'Or{.} do not.' },");
    return evaluated({load_rule(source, "a-rule.lua")}, ten_steps()).findings.at(0);
  };
  const Finding marked = found("'Load `a: b` in {n} workers. Now{.}: `f(x)`.'");
  CHECK(short_fix(marked) == "Load a: b in 4 workers. Now");
  CHECK(marked_short_fix(marked) == "Load `a: b` in 4 workers. Now");
  CHECK(marked.advice.front() == "Load a: b in 4 workers. Now: f(x).");
  CHECK(marked.advice.back() == "Or do not.");
  CHECK(short_fix(found("'Load them: `f(x)`.'")) == "Load them");  // as teams' rules have it
}

TEST_CASE("rules: without a mark the short fix ends at the first colon or full stop") {
  const auto fix = [](std::vector<std::string> advice) {
    Finding f;
    f.advice = std::move(advice);
    return short_fix(f);
  };
  CHECK(fix({}) == "");
  CHECK(fix({"Load batches in workers: DataLoader(num_workers=4). It helps.", "Or not."}) ==
        "Load batches in workers");
  CHECK(fix({"Set torch.backends.x=1 in a:b code. Then: go on."}) ==
        "Set torch.backends.x=1 in a:b code");
  CHECK(fix({"Pin the batches."}) == "Pin the batches");
}

TEST_CASE("rules: a rule's test fails if anything differs from what it expects") {
  const TempDir dir;
  write_file(dir / "a-rule.lua", rule_source("return { " + finding("0.5") + " }"));
  const std::string trace =
      "trace = { repeats = { times = 4, every = 1000 }, ranges = { { 0, 900, 'step {n}' } }, ops "
      "= { { 100, 600, kernel = 'a' } } }";
  const auto run = [&](const std::string& cases) {
    write_file(dir / "a-rule.test.lua", "return { " + cases + " }");
    return run_rule_tests(dir / "", RuleTestOptions{.fixtures = GH_FIXTURES});
  };
  CHECK(run("{ name = 'x', " + trace +
            ", expect = { { severity = 'error', subject = 'it', worth = { 0.49, 0.51 } } } }")
            .failed == 0);
  CHECK(run("{ name = 'x', " + trace + ", expect = 'clean' }").failed == 1);
  CHECK(run("{ name = 'x', " + trace + ", expect = 'not checked' }").failed == 1);
  CHECK(run("{ name = 'x', " + trace + ", expect = { {}, {} } }").failed == 1);
  CHECK(run("{ name = 'x', " + trace + ", expect = {} }").failed == 1);
  CHECK(run("{ name = 'x', " + trace + ", expect = { { worth = { 0.6, 0.7 } } } }").failed == 1);
  CHECK(run("{ name = 'x', " + trace + " }").failed == 1);
  CHECK(run("{ name = 'x', expect = 'clean' }").failed == 1);
  const RuleTestResult misspelt =
      run("{ name = 'x', " + trace + ", expect = { { severty = 'error' } } }");
  CHECK(misspelt.failed == 1);
  CHECK(contains(misspelt.output, "severity"));
  CHECK(contains(misspelt.output, "a-rule.test.lua"));
  const TempDir empty;
  CHECK_THROWS_AS(run_rule_tests(empty / "", RuleTestOptions{.fixtures = GH_FIXTURES}), Error);
  CHECK_THROWS_AS(run_rule_tests(empty / "nothing", RuleTestOptions{.fixtures = GH_FIXTURES}),
                  Error);
}

TEST_CASE("rules: the cases of a test file share its processor time") {
  const TempDir dir;
  write_file(dir / "a-rule.lua", rule_source("return {}"));
  write_file(dir / "a-rule.test.lua",
             "local c = { name = 'x', trace = { ops = { { 0, 9, kernel = 'a' } } }, expect = "
             "'clean' }\nreturn { c, c, c, c }");
  RuleTestOptions options{.fixtures = GH_FIXTURES};
  CHECK(run_rule_tests(dir / "", options).passed == 4);
  options.cpu_ns = 0;
  const RuleTestResult late = run_rule_tests(dir / "", options);
  CHECK(late.passed == 1);
  CHECK(late.failed == 1);
  CHECK_MESSAGE(contains(late.output, "not run, nor are the cases after it"), late.output);
}

TEST_CASE("rules: a rule that violates the contract is rejected, with its file and a suggestion") {
  const auto error = [](const std::string& source) {
    return error_of([&] { load_rule(source, "team/x.lua"); });
  };
  const std::string good = rule_source("return {}");
  CHECK(error(good) == "");
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string s = good;
    const std::size_t at = s.find(old);
    REQUIRE(at != std::string::npos);
    return s.replace(at, old.size(), now);
  };
  const std::map<std::string, std::string> broken{
      {"return 7", "table"},
      {"return {", "x.lua:1"},
      {with("category", "catgory"), "'category'"},
      {with("title =", "titel ="), "'title'"},
      {with("messages", "mesages"), "'messages'"},
      {with("since = \"0.1\"", "since = 1"), "since"},
      {with("\"a-rule\"", "\"A Rule\""), "lower-case"},
      {with("doc = {", "docs = {"), "'doc'"},
      {with("why = \"b\"", "whi = \"b\""), "'why'"},
      {with("evaluate = function(trace, options)", "evaluate2 = function(trace, options)"),
       "'evaluate'"},
      {with("since =", "warning_at = \"x\", since ="), "warning_at"},
      {with("since =", "headlines = { plan = \"x\" }, since ="), "'plain'"},
      {with("since =", "headlines = { plain = 7 }, since ="), "'headlines'"},
      {with("since =", "headlines = { plain = \"{time:lost} of {each_step}\" }, since ="),
       "{each_step}"},
      {with("since =", "needs = { \"kernel\" }, since ="), "'kernels'"},
      {with("since =",
            "options = { share = { default = {}, unit = \"fraction\", doc = \"x\" } }, since ="),
       "share"},
      {with("since =",
            "options = { share = { defalt = 1, unit = \"fraction\", doc = \"x\" } }, since ="),
       "'default'"},
      {with("since =", "options = { share = { default = 1, unit = \"fraction\" } }, since ="),
       "'doc'"},
  };
  for (const auto& [source, part] : broken) {
    CAPTURE(source);
    const std::string e = error(source);
    CAPTURE(e);
    CHECK(contains(e, "team/x.lua"));
    CHECK(contains(e, part));
  }
  CHECK_FALSE(error("while true do end").empty());
}

TEST_CASE("rules: the built-in rules are complete") {
  std::set<std::string> ids;
  for (const Rule& r : own_rules()) {
    CAPTURE(r.id);
    CHECK(ids.insert(r.id).second);
    for (const std::string& text : {r.title, r.since, r.what, r.why, r.fix, r.wrong})
      CHECK_FALSE(text.empty());
    CHECK_FALSE(r.messages.empty());
    for (const auto& [name, text] : r.messages) CHECK_MESSAGE(r.headlines.contains(name), name);
    CHECK(r.path == "rules/" + r.category + "/" + r.id + ".lua");
  }
  for (const char* id : {"data-loader-starvation", "offload-sync-gap", "um-migration-storm",
                         "non-tensor-core-gemm", "unfused-softmax"})
    CHECK(ids.contains(id));
}

TEST_CASE("rules: the program's own use nothing that is deprecated") {
  std::size_t files = 0, libraries = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with("rules/")) continue;
    CHECK_MESSAGE(deprecations(std::string(file.text)).empty(), std::string(file.path));
    ++files;
    libraries += file.path.ends_with(library_suffix);
  }
  CHECK(files > 100);
  CHECK(libraries == library_names().size());
  CHECK(deprecations("trace:kept_for_later()").empty());
  CHECK(deprecations("a:kept_for(b) c:kept_for(d)").size() == 1);
}

TEST_CASE("rules: a folder's rules are loaded, whatever else is in it") {
  const TempDir dir;
  CHECK(contains(error_of([&] { rules_in(dir / "", "--rules"); }), "no rule"));
  CHECK(contains(error_of([&] { rules_in(dir / "none", "--rules"); }), "no such directory"));
  std::filesystem::create_directory(dir / "sub");
  write_file(dir / "sub/one.lua", rule_source("return {}", "one"));
  write_file(dir / "sub/one.test.lua", "return {}");
  write_file(dir / "sub/one.lib.lua", "return {}");
  write_file(dir / "two.lua", rule_source("return {}", "two"));
  CHECK(rules_in(dir / "", "--rules").size() == 2);
  write_file(dir / "three.lua", "return { id = ");
  CHECK(contains(error_of([&] { rules_in(dir / "", "--rules"); }), "three.lua"));
}

TEST_CASE("rules: a rule that fails is named, and the others still run") {
  const Report r = evaluated({rule("error('boom')", "bad"), rule("return {}", "good"),
                              rule("return { " + finding("0.1") + " }", "found"),
                              rule("return trace:fact('no.such.fact')", "asks")},
                             ten_steps());
  REQUIRE(r.failed.size() == 2);
  CHECK(r.failed[0].rule == "bad");
  CHECK(contains(r.failed[0].error, "bad.lua:"));
  CHECK(contains(r.failed[0].error, "boom"));
  CHECK(r.failed[1].rule == "asks");
  CHECK(r.clean == std::vector<std::string>{"good"});
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].rule == "found");
}

TEST_CASE("rules: an endless rule is stopped and named, even if it catches errors") {
  for (const char* body :
       {"while true do end", "while true do pcall(function() while true do end end) end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 100000) end"}) {
    CAPTURE(body);
    const Report r = evaluated({rule(body, "endless"), rule("return {}", "good")}, ten_steps());
    REQUIRE(r.failed.size() == 1);
    CHECK(r.failed[0].rule == "endless");
    CHECK(contains(r.failed[0].error, "endless.lua"));
    CHECK(r.clean == std::vector<std::string>{"good"});
  }
  CHECK(contains(failure_of("while true do end"), "stopped after"));
}

TEST_CASE("rules: a rule whose findings violate the contract fails") {
  const std::string whole = "subject = \"it\", message = \"plain\"";
  CHECK(failure_of("return { { " + whole + " } }") == "");
  CHECK(contains(failure_of("return { { message = 'plain' } }"), "subject"));
  CHECK(contains(failure_of("return { { subject = 'it', message = 'none' } }"), "'messages'"));
  CHECK(contains(failure_of("return { { " + whole + ", recoverabl_ns = 1 } }"), "recoverable_ns"));
  CHECK(contains(failure_of("return { { " + whole + ", recoverable_ns = 0 / 0 } }"), "finite"));
  CHECK(contains(failure_of("return { { " + whole + ", recoverable_ns = 'much' } }"), "number"));
  CHECK(contains(failure_of("return { { " + whole + ", confidence = 'sure' } }"),
                 "high, medium or low"));
  CHECK(contains(failure_of("return { { " + whole + ", severity = 'eror' } }"), "error"));
  CHECK(contains(failure_of("return { { " + whole +
                            ", metrics = { { name = 'x', value = 1, unit = 'seconds' } } } }"),
                 "unit"));
  CHECK(contains(failure_of("return { { " + whole + ", advice = 'do' } }"), "advice"));
  CHECK(contains(
      failure_of("return { { subject = 'it', message = 'figures', data = { time = 1 } } }"),
      "count"));
  CHECK(contains(failure_of("return 7"), "a-rule.lua"));
  CHECK(contains(failure_of("return nil"), "without a reason"));
}

TEST_CASE("rules: a rule with more than 200 findings fails") {
  const auto many = [](int n) {
    return "local f = {} for i = 1, " + std::to_string(n) +
           " do f[i] = { subject = \"s\" .. tostring(i), message = \"plain\" } end return f";
  };
  CHECK(evaluated({rule(many(200))}, ten_steps()).findings.size() == 200);
  const Report r = evaluated({rule(many(201))}, ten_steps());
  CHECK(r.findings.empty());
  REQUIRE(r.failed.size() == 1);
  CHECK(contains(r.failed[0].error, "200"));
}

TEST_CASE("rules: a finding saves at most the step, and that decides its severity") {
  const auto found = [](const std::string& worth, const std::string& more = "",
                        const Settings& settings = {}, const std::string& rule_more = "") {
    const Report r =
        evaluated({rule("return { " + finding(worth, more) + " }", "a-rule", rule_more)},
                  ten_steps(), settings);
    REQUIRE(r.failed.empty());
    REQUIRE(r.findings.size() == 1);
    return r.findings[0];
  };
  CHECK(found("7").recoverable_fraction == 1);
  CHECK(found("7").recoverable_ns == 989'800);  // the mean step without launch and range
  CHECK(found("-1").recoverable_fraction == 0);
  CHECK(found("-1").recoverable_ns == 0);
  CHECK(found("0.25").recoverable_ns == 247'450);
  CHECK(found("0.2").severity == Severity::error);
  CHECK(found("0.199").severity == Severity::warning);
  CHECK(found("0.05").severity == Severity::warning);
  CHECK(found("0.049").severity == Severity::note);
  CHECK(found("0.03", "", {}, "warning_at = 0.03,").severity == Severity::warning);
  CHECK(found("0.029", "", {}, "warning_at = 0.03,").severity == Severity::note);
  CHECK(found("0.5", "severity = 'note'").severity == Severity::note);
  CHECK(found("0.01", "severity = 'error'").severity == Severity::error);
  CHECK(found("0.5", "at_most = 'warning'").severity == Severity::warning);
  CHECK(found("0.01", "at_most = 'warning'").severity == Severity::note);
  CHECK(found("0.5").confidence == "high");
  CHECK(found("0.5", "confidence = 'low'").confidence == "low");
  // The team's setting takes precedence.
  RuleSettings note;
  note.severity = Severity::note;
  CHECK(found("0.5", "severity = 'error'", {{"a-rule", note}}).severity == Severity::note);
  RuleSettings error;
  error.severity = Severity::error;
  CHECK(found("0.01", "at_most = 'note'", {{"a-rule", error}}).severity == Severity::error);
  CHECK(found("0.01", "", {{"another-rule", error}}).severity == Severity::note);
}

TEST_CASE("rules: messages are filled in, with units") {
  const Report r = evaluated({rule("return { { subject = 'it', message = 'figures', data = { "
                                   "time = 1.5e6, count = 3, what = 'things\\27[31m' } } }")},
                             ten_steps());
  REQUIRE(r.findings.size() == 1);
  CHECK(contains(r.findings[0].message, "ms of 3 things"));
  CHECK_FALSE(contains(r.findings[0].message, "\x1b"));
}

TEST_CASE(
    "rules: devices that are late to a collective are found, with the devices that wait and the "
    "exposed time") {
  const std::string two =
      R"(return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 900, "step {n}" }, { 0, 900, "step {n}", rank = 1 } }, ops = {
    { 20, 600, kernel = "a" }, { 500, 900, kernel = "ncclDevKernel_AllReduce", stream = 8 }, { 20, 800, kernel = "a", rank = 1 }, { 800, 910, kernel = "ncclDevKernel_AllReduce", stream = 8, rank = 1 },
    { 905, 970, kernel = "NAME" }, { 940, 980, kernel = "NAME", rank = 1 } } })";
  const Rule counts = rule(R"(local late = trace:late_devices()
    local first = late[1] or { device = -1, late_ns = 0, exposed_ns = 0, count = 0, own = trace:ops(), waited = trace:ops() }
    return { { subject = "late", message = "figures", recoverable_ns = 0, data = { time = first.late_ns, count = first.count, what = string.format("%d, device %d, shows %d ns, own %d ns, waited %d", #late, first.device,
      first.exposed_ns, first.own:median "duration_ns", first.waited:count()) } } })");
  const auto said = [&](std::string trace, const std::string& last) {
    trace.replace(trace.find("NAME"), 4, last);
    trace.replace(trace.find("NAME"), 4, last);
    const Report r = evaluated({counts}, trace_from_text(trace));
    return r.findings.empty() ? std::string() : r.findings.front().message;
  };
  // The first computes for 100 of the 300 us until the second arrives.
  CHECK(said(two, "b") == "1.50 ms of 5 1, device 1, shows 1000000 ns, own 110000 ns, waited 5");
  CHECK(said(two, "ncclDevKernel_AllGather") ==
        "1.64 ms of 10 1, device 1, shows 1140000 ns, own 75000 ns, waited 10");
  CHECK(said(two, "ncclDevKernel_SendRecv") ==
        said(two, "b"));  // from one to another: nobody else waits
}

TEST_CASE("rules: options have defaults, and can be set") {
  const Rule r =
      rule("if options.on and options.name == 'x' and options.share >= 0.5 then return { " +
               finding("0.1") + " } end return {}",
           "a-rule",
           "options = { share = { default = 0.7, unit = \"fraction\", doc = \"x\" }, on = { "
           "default = true, unit = \"\", doc = \"x\" }, name = { default = \"x\", unit = \"\", "
           "doc = \"x\" } },");
  CHECK(r.options.size() == 3);
  CHECK(std::get<double>(r.options.at("share").value) == 0.7);
  CHECK(evaluated({r}, ten_steps()).findings.size() == 1);
  const auto count = [&](const std::string& name, OptionValue value) {
    RuleSettings s;
    s.options[name] = value;
    return evaluated({r}, ten_steps(), {{"a-rule", s}}).findings.size();
  };
  CHECK(count("share", 0.4) == 0);
  CHECK(count("share", 0.5) == 1);
  CHECK(count("on", false) == 0);
  CHECK(count("name", std::string("y")) == 0);

  // A built-in rule.
  RuleSettings s;
  s.options["share"] = 0.9;
  const Report starved =
      evaluated(own_rules(), recorded("starved"), {{"data-loader-starvation", s}});
  for (const Finding& f : starved.findings)
    if (f.rule == "data-loader-starvation") CHECK(f.severity == Severity::note);
}

// A rule that scales everything by a factor, and has advice.
Rule rule_with_factor(const std::string& factor, const std::string& advice = "") {
  return load_rule(
      "return { id = 'a-rule', category = 'tests', title = 'T', since = '0.1', options = {}, "
      "factors = { left = " +
          factor + " }, advice = { " + advice +
          " }, messages = { plain = 'Something is so.', other = 'It is so.' }, doc = { what = 'a', "
          "why = 'b', fix = 'c', wrong = 'd' }, evaluate = function(trace, options, factors) local "
          "f "
          "= factors.left return { { subject = 'it', message = 'plain', data = { by = "
          "string.format('%.2f %.2f %.2f', f.by, f.least, f.most) }, seen = { lots = true, few = "
          "false }, recoverable_ns = 1, change = { { scale = trace:ops(), factor = f, times = 1 / "
          "2 } "
          "} } } end }",
      "a-rule.lua");
}

TEST_CASE("rules: a factor needs a source, and its range moves along when it is set") {
  const auto refused = [](const std::string& factor) -> std::string {
    try {
      rule_with_factor(factor);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  CHECK(contains(refused("{ by = 0.2, least = 0.1, most = 0.4, doc = 'd' }"), "'source'"));
  CHECK(contains(refused("{ least = 0.1, doc = 'd', source = 's' }"), "needs 'by'"));
  CHECK(contains(refused("{ by = 0.2, least = 0.3, doc = 'd', source = 's' }"), "between"));
  const Rule rule =
      rule_with_factor("{ by = 0.2, least = 0.1, most = 0.6, doc = 'd', source = 's' }", "'{by}'");
  CHECK(evaluated({rule}, ten_steps()).findings.at(0).advice.at(0) == "0.20 0.10 0.60");
  RuleSettings set;
  set.options["left"] = 0.4;
  const Finding found = evaluated({rule}, ten_steps(), {{"a-rule", set}}).findings.at(0);
  CHECK(found.advice.at(0) == "0.40 0.20 1.00");  // nothing takes longer than before
  REQUIRE(found.changes.size() == 1);
  const Factor factor = std::get<change::Scale>(found.changes[0]).factor;
  CHECK(factor.by == doctest::Approx(0.2));
  CHECK(factor.least == doctest::Approx(0.1));
}

TEST_CASE("rules: a finding carries the advice whose conditions hold, in words for the program") {
  const auto said = [](const std::string& advice) {
    const Rule rule = rule_with_factor("{ by = 1, doc = 'd', source = 's' }", advice);
    const Report r = evaluated({rule}, ten_steps());
    return r.failed.empty() ? r.findings.at(0).advice
                            : std::vector<std::string>{r.failed.at(0).error};
  };
  using Texts = std::vector<std::string>;
  CHECK(said("'Always.', { 'This too.' }") == Texts{"Always.", "This too."});
  CHECK(said("{ when = 'lots', 'A.' }, { when = 'few', 'B.' }, { when = 'plain', 'C.' }, { when = "
             "'other', 'D.' }") == Texts{"A.", "C."});
  CHECK(said("{ unless = 'lots', 'A.' }, { unless = { 'few', 'other' }, 'B.' }, { when = { 'lots', "
             "'few' }, 'C.' }") == Texts{"B."});
  CHECK(said("{ when = 'lots', pytorch = 'A.', cuda = 'B { x }.' }") == Texts{"B { x }."});
  CHECK(contains(said("'{nothing}'").at(0), "'nothing'"));
  // Code is marked for the page only.
  CHECK(said("'Use `x`: {by}.'") == Texts{"Use x: 1.00 1.00 1.00."});
  CHECK(contains(said("{ when = 'lots', pythorch = 'A.' }").at(0), "pythorch"));
}

TEST_CASE("rules: a team's rule replaces the built-in one, with a note") {
  std::vector<Rule> rules = own_rules();
  const std::size_t before = rules.size();
  std::vector<std::string> notes;
  std::vector<Rule> team;
  team.push_back(load_rule(rule_source("return {}", "unfused-softmax"), "team/softmax.lua"));
  team.push_back(load_rule(rule_source("return {}", "aaa-new"), "team/new.lua"));
  add_rules(rules, std::move(team), notes);
  CHECK(rules.size() == before + 1);
  CHECK(rules.front().id == "aaa-new");
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0], "unfused-softmax"));
  CHECK(contains(notes[0], "team/softmax.lua"));
  const Report r = evaluated(rules, recorded("eager"));
  CHECK(holds(r.clean, "unfused-softmax"));
}

TEST_CASE("rules: other kernels end a run, and the longest kernel of each run is returned") {
  const Trace trace = trace_from_text(
      R"(return { ops = { { 0, 10, kernel = "a" }, { 10, 40, kernel = "a" }, { 40, 60, kernel = "a" }, { 60, 100, kernel = "b" },
    { 100, 150, kernel = "a" }, { 150, 160, kernel = "a" }, { 160, 170, kernel = "b" }, { 170, 270, kernel = "a" }, { 500, 600, kernel = "a", stream = 8 }, { 600, 650, kernel = "a", stream = 8 } } })");
  const Report r = evaluated({rule(R"(
    local runs, inner, longest = trace:runs { of = trace:ops { name = "a" }, least = 2 }
    return { { subject = string.format("%d runs, %d inner, %d longest, %d ns", runs:count(), inner:count(), longest:count(), longest:sum "duration_ns"), message = "plain", severity = "note" } })")},
                             trace);
  REQUIRE(r.findings.size() == 1);
  CHECK(r.findings[0].subject == "3 runs, 7 inner, 3 longest, 180000 ns");
}

TEST_CASE("rules: the order of findings is total") {
  struct Sample {
    std::string rule, subject, text;
    double fraction;
    bool voids = false;
  };
  std::vector<Estimated> findings;
  for (const Sample& sample :
       {Sample{"b", "", "", 0.1}, Sample{"a", "y", "", 0.1}, Sample{"a", "x", "", 0.1},
        Sample{"z", "", "", 0.9}, Sample{"v", "", "", 0, true}, Sample{"a", "x", "m", 0.1}}) {
    Estimated f;
    f.rule = sample.rule;
    f.subject = sample.subject;
    f.text = sample.text;
    f.alone_fraction = sample.fraction;
    f.voids = sample.voids;
    findings.push_back(f);
  }
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  do {
    std::vector<Placed> shuffled;
    for (const std::size_t i : order)
      shuffled.push_back({&findings[i], standing_alone(findings[i])});
    std::string s;
    for (const Placed& p : ranked(shuffled))
      s += p.finding->rule + p.finding->subject + p.finding->text + " ";
    REQUIRE(s == "v z ax axm ay b ");
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE(
    "rules: a consequence of another finding comes after it, and only if that one was found") {
  const auto with = [](const std::string& id, const std::string& worth,
                       const std::string& follows) {
    return rule("return { " +
                    finding(worth, follows.empty() ? "" : "follows_from = '" + follows + "'") +
                    " }",
                id);
  };
  const Report r = evaluated({with("root", "0.3", ""), with("first", "0.4", "root"),
                              with("second", "0.2", "root"), with("other", "0.35", ""),
                              with("orphan", "0.1", "absent"), with("chained", "0.15", "first")},
                             ten_steps());
  std::string order;
  for (const Finding& f : r.findings)
    order += f.rule + (f.follows_from.empty() ? " " : "<" + f.follows_from + " ");
  CHECK(order == "root first<root second<root chained<first other orphan ");
  // A consequence that is only a note makes its root no heavier.
  const Report light = evaluated(
      {with("root", "0.3", ""),
       rule("return { " + finding("0.9", "follows_from = 'root', at_most = 'note'") + " }",
            "mention"),
       with("other", "0.35", "")},
      ten_steps());
  CHECK(light.findings.front().rule == "other");
  // A root that is only a note explains nothing.
  CHECK(evaluated({with("root", "0.01", ""), with("first", "0.4", "root")}, ten_steps())
            .findings.front()
            .follows_from.empty());
}

TEST_CASE("rules: unknown keys are named in a fixed order") {
  const std::string error =
      failure_of("return { " + finding("0.1", "zeta = 1, alpha = 2, mid = 3") + " }");
  CHECK(error.find("'alpha'") != std::string::npos);
}

TEST_CASE("rules: evaluating again gives the same result") {
  for (const char* name : {"starved", "offload", "um-umtouch-full", "ddp"}) {
    CAPTURE(name);
    CHECK(all_of(evaluated(own_rules(), recorded(name))) ==
          all_of(evaluated(own_rules(), recorded(name))));
  }
}

TEST_CASE("rules: a fingerprint is the same when the same program is recorded later") {
  Finding f;
  f.rule = "a";
  f.subject = "b";
  f.message = "1 ms";
  f.recoverable_ns = 5;
  Finding later = f;
  later.message = "2 ms";
  later.recoverable_ns = 9;
  CHECK(fingerprint(f) == fingerprint(later));
  CHECK(fingerprint(f).size() == 16);
  later.subject = "c";
  CHECK(fingerprint(f) != fingerprint(later));

  const TempDir dir;
  const auto copy = dir / "copy.sqlite";
  std::filesystem::copy_file(std::filesystem::path(GH_FIXTURES) / "starved.sqlite", copy);
  std::filesystem::permissions(copy, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::string shift;
  for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                            "CUPTI_ACTIVITY_KIND_MEMSET", "CUPTI_ACTIVITY_KIND_RUNTIME",
                            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS", "OSRT_API"})
    shift +=
        std::string("update ") + table + " set start = start + 123456789, end = end + 123456789;";
  support::run_sql(copy, shift);
  const Report before = evaluated(own_rules(), recorded("starved")),
               after = evaluated(own_rules(), read_nsys(copy));
  REQUIRE(before.findings.size() == after.findings.size());
  REQUIRE_FALSE(before.findings.empty());
  for (std::size_t i = 0; i < before.findings.size(); ++i) {
    CHECK(before.findings[i].fingerprint == after.findings[i].fingerprint);
    CHECK(before.findings[i].recoverable_ns == after.findings[i].recoverable_ns);
  }
  CHECK(before.findings[0].evidence.at(0).span.start + 123456789 ==
        after.findings[0].evidence.at(0).span.start);
}

TEST_CASE("rules: what was not recorded is not checked, never clean") {
  Rule r = rule("return {}", "a-rule", "needs = { \"copies\" },");
  const Report without = evaluated(
      {r}, trace_from_text(
               R"(return { ops = { { 0, 10, kernel = "a" } }, not_collected = { "copies" } })"));
  CHECK(without.clean.empty());
  REQUIRE(without.not_checked.size() == 1);
  CHECK(contains(without.not_checked[0].reason, "copies"));
  CHECK(without.not_checked[0].record_with == "--record-them");
  const Report nothing = evaluated({r}, trace_from_text("return {}"));
  CHECK(nothing.clean.empty());
  CHECK(nothing.not_checked.size() == 1);
  const Report declines = evaluated({rule("return nil, 'because', '--trace=cuda'")}, ten_steps());
  REQUIRE(declines.not_checked.size() == 1);
  CHECK(declines.not_checked[0].reason == "because");
  CHECK(declines.not_checked[0].record_with == "--trace=cuda");
}

TEST_CASE("rules: what is too much for a verb is not checked, and the other rules go on") {
  std::string ranges;
  for (int i = 0; i < 201; ++i)
    ranges += fmt::format("{{ {}, {}, '{}-{{n}}' }}, ", 4 * i, 4 * i + 3, i);
  const Trace many =
      trace_from_text("return { repeats = { times = 1000, every = 1000 }, ranges = { " + ranges +
                      " }, ops = { { 2, 8, kernel = 'a' } } }");
  const Report r =
      evaluated({rule("pcall(function() trace:ranges():group('name') end) return {}", "many"),
                 rule("trace:ops():group('name') return {}", "few")},
                many);
  CHECK(r.failed.empty());
  REQUIRE(r.not_checked.size() == 1);
  CHECK(r.not_checked[0].rule == "many");
  CHECK(r.not_checked[0].reason == "there are more than 200000 groups by 'name'");
  CHECK(r.clean == std::vector<std::string>{"few"});
}

TEST_CASE(
    "rules: where processes share a GPU, findings keep their own estimates, and no idle time is "
    "clean") {
  // Six steps of 10 ms: each of two processes loads for 6 ms, and the second begins 0.3 ms later.
  const auto trace = [](bool shared) {
    Trace t = trace_from_text(R"(return { repeats = { times = 6, every = 10000 },
      ranges = { { 0, 9000, "step {n}" }, { 100, 6000, "dataloader" }, { 300, 9300, "step {n}", rank = 1 }, { 400, 6300, "dataloader", rank = 1 } },
      ops = { { 6010, 9900, kernel = "nvjet_tst_gemm", launched = { 6000, 6005 } }, { 6310, 9950, kernel = "nvjet_tst_gemm", launched = { 6300, 6305 }, rank = 1 } } })");
    if (shared)
      for (Stream& s : t.streams) s.device = 0;
    return t;
  };
  const std::vector<Rule> rules = own_rules();
  const auto found = [](const Report& r, const std::string& rule) {
    for (const Finding& f : r.findings)
      if (f.rule == rule) return &f;
    throw Error("not found: " + rule);
  };

  const Report apart = evaluated(rules, trace(false));
  CHECK(found(apart, "data-loader-starvation")->predicted);
  CHECK(apart.plan);
  CHECK(holds(apart.clean, "host-sync"));

  const Report shared = evaluated(rules, trace(true));
  const Finding& starved = *found(shared, "data-loader-starvation");
  CHECK(starved.severity == Severity::error);
  CHECK(starved.recoverable_fraction > 0.55);
  CHECK_FALSE(starved.about);
  CHECK_FALSE(starved.predicted);
  CHECK_FALSE(shared.plan);
  CHECK(contains(found(shared, "capture-quality")->message, "2 processes launch work on one GPU"));
  CHECK_FALSE(holds(shared.clean, "host-sync"));
  CHECK(holds(shared.clean, "unfused-norm"));
  const auto sync = std::find_if(shared.not_checked.begin(), shared.not_checked.end(),
                                 [](const NotChecked& n) { return n.rule == "host-sync"; });
  REQUIRE(sync != shared.not_checked.end());
  CHECK(contains(sync->reason, "found nothing, but 2 processes share a GPU"));
}

TEST_CASE("rules: every rule runs on every recording") {
  // The truth about each recording: which rules have to find something at warning or above, and
  // which may do so.
  struct Truth {
    std::set<std::string> must, may;
  };
  const std::set<std::string> everywhere{"unfused-pointwise", "unfused-norm", "precision-headroom"};
  const std::set<std::string> offloading{"exposed-memcpy", "host-sync", "gpu-idle", "sync-memcpy",
                                         "launch-bound"},
      unified{"alloc-churn", "host-sync", "gpu-idle", "sync-memcpy", "launch-bound"};
  const std::map<std::string, Truth> truth{
      {"good", {}},
      {"fed", {}},
      {"starved", {{"data-loader-starvation"}, {}}},
      {"offload", {{"offload-sync-gap"}, offloading}},
      {"offload-pageoff", {{"offload-sync-gap", "pageable-memcpy"}, offloading}},
      {"fp32", {{"non-tensor-core-gemm"}, {}}},
      {"tf32", {{"precision-headroom"}, {}}},
      {"eager", {{"unfused-softmax"}, {}}},
      {"eager-autogradnvtx", {{"unfused-softmax"}, {"launch-bound", "gpu-idle"}}},
      {"loopopt", {{"unfused-optimizer"}, {"launch-bound"}}},
      {"syncs-pageable", {{"host-sync"}, {"gpu-idle", "launch-bound"}}},
      {"lora", {{"non-tensor-core-gemm"}, {}}},
      {"compile", {}},
      {"compile-graphs", {}},
      {"compile-graphsnode", {{}, {"launch-bound", "low-sm-fill", "gpu-idle"}}},
      {"launchbound",
       {{"launch-bound"}, {"low-sm-fill", "gpu-idle", "host-sync", "unfused-softmax"}}},
      {"um", {{"um-fault-stall"}, unified}},
      {"um-umtouch-lora",
       {{"um-fault-stall"},
        {"alloc-churn", "host-sync", "gpu-idle", "sync-memcpy", "launch-bound",
         "non-tensor-core-gemm"}}},
      {"um-umtouch-full", {{"um-fault-stall", "um-migration-storm"}, unified}},
      {"gpumetrics", {{"unfused-softmax"}, {"tensor-idle"}}},
      {"ddp", {{}, {"exposed-collective"}}},
      {"ddp-straggler",
       {{"rank-straggler"},
        {"gpu-idle", "host-sync"}}},  // it sleeps, so the GPU is idle for no other reason
      {"ddp-small-collectives", {{"small-collectives"}, {"exposed-collective", "loss-head"}}},
      {"alloc-churn", {{"alloc-churn"}, {"launch-bound"}}},
      {"exposed-copy", {{"exposed-memcpy"}, {}}},
      {"checkpoint-stall", {{"checkpoint-stall"}, {"step-outlier"}}},
      {"gc-pause", {{"gc-pause"}, {"launch-bound"}}},
      {"two-experts", {{"exposed-collective"}, {}}},
      {"two-fsdp-no-prefetch", {{"fsdp-late-gather"}, {"exposed-collective"}}},
      {"two-pipeline-2", {{"pipeline-bubble"}, {"exposed-collective"}}},
      {"two-reduce-at-end", {{}, {"exposed-collective"}}},
      {"two-slow-loader", {{"rank-straggler"}, {"gpu-idle", "host-bound"}}},
      {"two-straggler", {{"rank-straggler"}, {}}},
      {"two-sync-each", {{"grad-sync-every-microbatch"}, {"exposed-collective"}}},
      {"two-tensor-parallel", {{"exposed-collective"}, {}}},
      {"cpuadam",
       {{"cpu-optimizer"},
        {"gpu-idle", "sync-memcpy", "exposed-memcpy", "host-sync", "unexplained"}}},
      {"devicemap", {{"pipeline-bubble"}, {}}},
      {"hftrainer",
       {{"unfused-softmax", "misaligned-gemm"}, {"host-sync", "launch-bound", "loss-head"}}},
      {"moe",
       {{"launch-bound"},
        {"data-dependent-sync", "gpu-idle", "sync-memcpy", "host-sync", "unexplained"}}},
      {"recompile",
       {{"jit-in-loop"}, {"gpu-idle", "launch-bound", "gc-pause", "first-use", "unexplained"}}},
      {"recompute", {{"recompute-with-headroom"}, {"host-sync"}}},
      {"rlenv", {{"host-bound"}, {"launch-bound", "sync-memcpy", "host-sync", "unexplained"}}},
      {"um-stencil", {{"um-migration-storm"}, {"host-sync", "gpu-idle", "um-fault-stall"}}},
      {"um-stencil-device", {{}, {"host-sync"}}},
      {"attention-efficient", {{"attention-backend"}, {"loss-head"}}},
      {"attention-math", {{"unfused-softmax"}, {"non-tensor-core-gemm"}}},
      {"cpu-optimizer", {{"cpu-optimizer"}, {}}},
      {"cu-alloc-async-trim", {{"alloc-churn"}, {"host-sync"}}},
      {"cu-data-dependent-sync", {{"sync-memcpy"}, {}}},
      {"cu-dependency-stall", {{"low-sm-fill"}, {}}},
      {"cu-dependency-stall-legacy", {{"dependency-stall"}, {"low-sm-fill"}}},
      {"cu-dependency-stall-lookalike", {{"low-sm-fill"}, {}}},
      {"cu-hot-kernel", {}},
      {"cu-low-sm-fill", {{"low-sm-fill"}, {}}},
      {"cu-low-sm-fill-lookalike", {}},
      {"cu-own-product", {{"hot-kernel"}, {}}},
      {"cu-own-product-lookalike", {}},
      {"cu-resident-data", {{"resident-data"}, {}}},
      {"cu-resident-data-lookalike", {{}, {"host-sync"}}},  // results of 16 MiB are waited for
      {"data-dependent-sync", {{"data-dependent-sync"}, {"launch-bound", "host-sync"}}},
      {"data-dependent-sync-lookalike", {{"host-sync"}, {}}},  // 4 % measured
      {"decode-bandwidth", {}},
      {"decode-launch", {{"launch-bound"}, {}}},
      {"device-copies", {}},
      {"expert-gather", {{"expert-gather"}, {}}},
      {"expert-gather-lookalike", {}},
      {"fp8-cast-overhead", {{"fp8-cast-overhead"}, {}}},
      {"gather-scatter", {{"gather-scatter"}, {}}},
      {"gil-contention", {{"gil-contention"}, {}}},
      {"gil-contention-lookalike", {}},
      {"graph-breaks", {{"graph-breaks"}, {"launch-bound", "host-bound"}}},
      {"kv-concat", {{"kv-concat"}, {}}},
      {"launch-blocking", {{"harmful-environment"}, {"launch-bound"}}},
      {"layout-conversion", {{"layout-conversion"}, {}}},
      {"layout-conversion-lookalike", {}},
      {"loss-head", {{"loss-head"}, {}}},
      {"low-sm-fill", {{"low-sm-fill"}, {}}},
      {"no-caching", {{"harmful-environment"}, {"alloc-churn"}}},
      {"padding-lookalike", {{}, {"loss-head"}}},
      {"nvtx-encoder-forward", {{"non-tensor-core-gemm"}, {"host-sync"}}},
      {"nvtx-lm-forward", {{"non-tensor-core-gemm"}, {"host-sync"}}},
      {"nvtx-lm-training", {{"non-tensor-core-gemm"}, {}}},
      {"padding-waste", {}},
      {"recompute-lookalike", {}},
      {"recompute-with-headroom", {{"recompute-with-headroom"}, {}}},
      {"repeated-casts", {}},
      {"resident-data", {{"resident-data"}, {}}},
      {"resident-data-lookalike", {{"exposed-memcpy"}, {"host-sync"}}},
      {"rl", {{"host-bound"}, {"launch-bound"}}},
      {"unfused-mlp", {}},
      {"unit-accumulation", {{"launch-bound"}, {}}},
      {"unit-augmented-beside", {}},
      {"unit-continuous-batching", {{"launch-bound"}, {}}},
      {"unit-fsdp-layers", {{}, {"launch-bound", "unexplained"}}},
      {"unit-fsdp-layers-marked", {{"non-tensor-core-gemm"}, {"launch-bound"}}},
      {"unit-idle-tail", {{"launch-bound"}, {}}},
      {"unit-collected", {{"step-outlier"}, {}}},
      {"unit-now-and-then", {{"step-outlier", "non-tensor-core-gemm"}, {"host-sync"}}},
      {"unit-pauses-at-random", {{"gpu-idle"}, {}}},
      {"unit-queue-runs-dry", {{"data-loader-starvation"}, {}}},
      {"unit-size-sweep", {{"host-bound"}, {"alloc-churn", "non-tensor-core-gemm"}}},
      {"unit-train-then-generate", {}},
      {"unit-trained-beside-a-process", {{"non-tensor-core-gemm"}, {}}},
      {"unit-trained-beside-tokens", {{"launch-bound", "non-tensor-core-gemm"}, {}}},
      {"unit-validated-epochs", {}},
      {"beat", {{"data-loader-starvation"}, {"exposed-memcpy", "pageable-memcpy"}}},
      {"tiles", {{}, {"host-sync"}}},
      {"wait-asyncio", {{"host-sync"}, {"gpu-idle"}}},
      {"wait-data-parallel", {{"non-tensor-core-gemm", "data-parallel"}, {}}},
      {"wait-event-query-spin", {{"host-sync"}, {"data-loader-starvation"}}},
      {"wait-gil-fight", {{"gpu-idle"}, {"launch-bound"}}},
      {"wait-numpy-beside-lookalike", {{}, {"host-sync"}}},
      {"wait-own-thread-lookalike", {{"host-sync"}, {}}},  // these three read the loss
      {"wait-steady-work-lookalike", {{"host-sync"}, {"data-loader-starvation"}}},
      {"wait-varied-work-lookalike", {{"host-sync"}, {"data-loader-starvation"}}},
      {"wait-prefetcher-thread", {{"host-sync"}, {"gpu-idle", "exposed-memcpy"}}},
      {"wait-queue-between-threads", {{"data-loader-starvation"}, {"host-sync"}}},
      {"wait-shared-memory-barrier", {{}, {"host-sync", "data-loader-starvation", "gpu-idle"}}},
      {"cu-condition-variable", {{"host-sync"}, {"gpu-idle"}}},
      {"cu-frames-allocated", {{"exposed-memcpy", "alloc-churn"}, {}}},
      {"cu-frames-pooled", {{"exposed-memcpy"}, {}}},
      {"products", {}},
      {"layers-blocks", {{"unfused-softmax"}, {"device-copies", "loss-head"}}},
      {"layers-blocks-seq", {{"unfused-softmax"}, {"device-copies", "loss-head"}}},
      {"layers-compiled", {{}, {"unfused-softmax"}}},
      {"layers-megatron", {}},
      {"layers-jax", {}},
      {"layers-cuda", {}},
      // Recorded by PyTorch's profiler alone: a tiny model in FP32, and one whose host is slow.
      {"graphs", {{"non-tensor-core-gemm", "low-sm-fill"}, {}}},
      {"layers-lightning", {{}, {"unfused-pointwise", "launch-bound", "gpu-idle"}}},
  };
  CHECK(support::recordings().size() + support::unmarked_recordings().size() + 2 == truth.size());
  const std::vector<Rule> rules = own_rules();
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& path : support::unmarked_recordings()) all.push_back(path);
  for (const auto& path : support::torch_traces()) all.push_back(path);
  for (const auto& path : support::few_with_sanitizers(all)) {
    CAPTURE(path.filename());
    const std::string name = path.filename().string().substr(
        0, path.filename().string().find(
               '.'));  // of the program: both profilers recorded the same one
    REQUIRE(truth.contains(name));
    const Report r = evaluated(rules, read_report(path));
    CHECK(r.failed.empty());
    std::set<std::string> found;
    for (const Finding& f : r.findings) {
      if (f.severity >= Severity::warning &&
          (!everywhere.contains(f.rule) || truth.at(name).must.contains(f.rule)))
        found.insert(f.rule);
      CHECK_FALSE(f.advice.empty());
      CHECK(f.recoverable_fraction <= 1);
    }
    for (const std::string& must : truth.at(name).must) {
      CAPTURE(must);
      CHECK(found.contains(must));
    }
    for (const std::string& rule_found : found) {
      CAPTURE(rule_found);
      CHECK((truth.at(name).must.contains(rule_found) || truth.at(name).may.contains(rule_found)));
    }
    if (name == "compile-graphs")
      for (const char* unseen : {"non-tensor-core-gemm", "unfused-softmax"}) {
        CHECK_FALSE(holds(r.clean, unseen));
        CHECK(std::any_of(r.not_checked.begin(), r.not_checked.end(), [&](const NotChecked& n) {
          return n.rule == unseen && contains(n.record_with, "--cuda-graph-trace=node");
        }));
      }
  }
}
