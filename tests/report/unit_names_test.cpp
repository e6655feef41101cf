// Every format calls what repeats by its name, and nothing a step where nothing does.
#include <re2/re2.h>

#include "analysis/facts.hpp"
#include "base/json.hpp"
#include "report/report.hpp"
#include "rules/rules.hpp"
#include "support/support.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

gh::Analysis called(gh::Analysis a, const std::vector<gh::UnitLevel>& levels) {
  for (gh::DeviceSteps& d : a.devices) d.levels = levels;
  return a;
}

// What each format says of an analysis.
struct Said {
  std::string text, page, json, trace, markdown, github, junit, sarif;

  explicit Said(const gh::Analysis& a) {
    const std::vector<gh::Rule> rules = gh::own_rules();
    const gh::Facts facts(a);
    const gh::Report report = gh::evaluate(rules, a, facts, {});
    gh::CiResult ci;
    ci.rules = rules;
    ci.add(a, report, gh::Severity::note);
    gh::TextStyle style;
    style.amount = gh::Amount::full;
    text = gh::render_text(a, report, style);
    page = gh::render_html(a, report, rules);
    json = gh::render_json(a, report);
    trace = gh::render_trace(a, report);
    markdown = gh::render_check_markdown(ci);
    github = gh::render_github(ci);
    junit = gh::render_junit(ci);
    sarif = gh::render_sarif(ci);
  }
};

// Names of ranges, files and rules aside, and what rules themselves advise.
bool speaks_of_steps(std::string said) {
  said = said.substr(0, said.find("\n1. "));
  RE2::Replace(&said, "--unit chooses among: [^.]*\\.", "");  // searches anew
  RE2::GlobalReplace(&said, "'[^']*'", "");
  RE2::Replace(&said, ": PyTorch, training", "");  // what kind of program it is
  return RE2::PartialMatch(said, "(?i)\\bsteps?\\b|training");
}

// Six rounds of 1 ms, in each of which the host is slow to launch the second kernel.
const char* const rounds =
    "return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step {n}' } }, "
    "ops = { { 20, 300, kernel = 'gemm' }, { 500, 980, kernel = 'gemm' } } }";

}  // namespace

TEST_CASE("unit names: tokens are tokens in every format") {
  const Said said(called(analysed(recorded("starved")), {{"token", 11}}));
  CHECK(contains(said.text, ", 11 tokens from "));
  CHECK(contains(said.text, "Where a token goes (mean)"));
  CHECK(contains(said.text, "\n  the token "));
  CHECK(contains(said.text, "What a token waits for"));
  CHECK(RE2::PartialMatch(said.text, "of each [0-9.]+ ms token"));
  CHECK(contains(said.text, "\n   token     "));
  CHECK_FALSE(speaks_of_steps(said.text));
  for (const std::string words :
       {">Where a token goes</h2>", ">How long tokens take</h2>", "Length of the token",
        "Token then", "Of the token", "What a token waits for", "every token", ", of a mean token",
        "\"tokens, device 0\"", "\"the tokens\"", "\"token 3\"", "11 tokens, from "})
    CHECK_MESSAGE(contains(said.page, words), words);
  for (const std::string words :
       {">Where a step goes", "Step then", "every step", "of a mean step", "Of the step"})
    CHECK_MESSAGE(!contains(said.page, words), words);
  CHECK(contains(said.trace, "\"token 3\""));
  CHECK(contains(said.trace, "account of the token, ms"));
  CHECK(contains(said.markdown, "11 tokens"));
  for (const std::string& format : {said.markdown, said.github, said.junit, said.sarif})
    CHECK(RE2::PartialMatch(format, "saves (about|at most) [0-9.]+ [mu]s a token"));
  const gh::Json unit = gh::Json::parse(said.json)["unit"];
  CHECK(unit == gh::Json::parse(R"({"name":"token","count":11,"levels":[]})"));
}

TEST_CASE("unit names: a nested unit is told with what repeats within it") {
  const Said said(called(analysed(recorded("starved")),
                         {{"training step", 11}, {"micro-batch", 8}, {"layer", 24}}));
  const std::string repeats = "Repeats: 11 training steps of 8 micro-batches, 24 layers each";
  CHECK(contains(said.text, ", 11 training steps from "));
  for (const std::string& format : {said.text, said.page, said.markdown})
    CHECK(contains(format, repeats));
  CHECK(contains(said.text, "Where a step goes"));  // running text is short
  const gh::Json unit = gh::Json::parse(said.json)["unit"];
  CHECK(unit["name"] == "training step");
  CHECK(unit["levels"] ==
        gh::Json::parse(R"([{"name":"micro-batch","count":8},{"name":"layer","count":24}])"));
}

TEST_CASE("unit names: an iteration has its own article") {
  const Said said(called(analysed(rounds), {{"iteration", 5}}));
  CHECK(contains(said.text, "5 iterations from "));
  CHECK(contains(said.text, "Where an iteration goes"));
  CHECK(contains(said.page, ">Where an iteration goes</h2>"));
  CHECK_FALSE(contains(said.text, "a iteration"));
}

TEST_CASE("unit names: where nothing repeats every format speaks of the window") {
  const Said said(
      analysed("return { ops = { { 10, 900, kernel = 'gemm' }, { 2000, 2500, kernel = 'b' } } }"));
  CHECK(contains(said.text, "no repetition was found: the whole window"));
  CHECK(contains(said.text, "Where the time goes"));
  CHECK_FALSE(speaks_of_steps(said.text));
  CHECK(contains(said.page, "No repetition was found in this report"));
  CHECK(contains(said.page, "Of the window"));
  CHECK(contains(said.trace, "account of the window, ms"));
  CHECK(contains(said.markdown, "no steps were found: the whole window"));
  CHECK(gh::Json::parse(said.json)["unit"] ==
        gh::Json::parse(R"({"name":"window","count":1,"levels":[]})"));
}
