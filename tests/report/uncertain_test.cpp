// What is not known is said as a range, and where it decides what to do first, so is that.
#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/json_reader.hpp"
#include "report/comparison_phrases.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/suppressed.hpp"
#include "report/verdict.hpp"
#include "rules/evaluate.hpp"
#include "rules/finding_json.hpp"
#include "support/program.hpp"
#include "support/support.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

// Of a step of 10 ms, as expected and at the ends of what is unknown.
gh::Finding saving(const std::string& rule, gh::Ns ns, gh::Ns if_most_ns, gh::Ns if_least_ns) {
  gh::Finding f;
  f.rule = f.fingerprint = rule;
  f.category = "tests";
  f.title = rule + " is slow";
  f.fix = "Mend " + rule;
  f.advice = {"Mend " + rule};
  f.severity = f.severity_alone = gh::Severity::warning;
  f.step_ns = 10'000'000;
  f.alone_ns = f.recoverable_ns = ns;
  f.alone_fraction = static_cast<double>(ns) / 1e7;
  f.about = true;
  gh::Prediction p{.step_ns = f.step_ns - ns, .why = "a test"};
  p.saves_if_most_ns = if_most_ns;
  p.saves_if_least_ns = if_least_ns;
  f.predicted = f.replayed = std::move(p);
  return f;
}

gh::Report uncertain(gh::Finding first, gh::Finding second) {
  gh::Report r;
  r.step.from = gh::StepTime::From::replayed;
  r.step.ns = 10'000'000;
  r.step.least_ns = 9'000'000;
  r.step.most_ns = 14'000'000;
  r.step.recorded_ns = 15'000'000;
  r.findings = {std::move(first), std::move(second)};
  return r;
}

gh::Analysis ten_steps() {
  return analysed(R"(return { repeats = { times = 10, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } }, ops = { { 20, 9900, kernel = "work" } } })");
}

}  // namespace

TEST_CASE("uncertain: a saving has its range where the ends lie further apart than a quarter") {
  CHECK(gh::amount_text(saving("a", 4'000'000, 4'500'000, 3'800'000)) == "about 4.00 ms");
  CHECK(gh::amount_text(saving("a", 4'000'000, 4'500'000, 1'000'000)) ==
        "about 4.00 ms (1.00 ms to 4.50 ms)");
  CHECK(gh::amount_text(saving("a", 4'000'000, 4'500'000, 0)) ==
        "about 4.00 ms (nothing to 4.50 ms)");
  // A ceiling is one already.
  gh::Finding at_most = saving("a", 4'000'000, 4'500'000, 0);
  at_most.about = false;
  CHECK(gh::amount_text(at_most) == "at most 4.00 ms");
}

TEST_CASE("uncertain: every output says the range of a saving") {
  const gh::Analysis a = ten_steps();
  gh::Report r = uncertain(saving("a", 4'000'000, 4'500'000, 0), saving("b", 0, 0, 0));
  r.step = gh::StepTime(a);
  const std::string range = "saves about 4.00 ms (nothing to 4.50 ms) ";
  gh::CiResult ci;
  ci.add(a, r, std::nullopt);
  for (const std::string& text :
       {gh::render_check_markdown(ci), gh::render_github(ci), gh::render_sarif(ci)})
    CHECK(contains(text, range + "a step (40 %"));
  // A finding that better fixes leave little of is told by itself, as in the text.
  r.findings.front().recoverable_ns = 1'000'000;
  gh::CiResult shared;
  shared.add(a, r, std::nullopt);
  CHECK(contains(gh::render_github(shared), range));
  r.suppressed = {r.findings.front()};
  r.findings.clear();
  CHECK(contains(gh::suppressed_verdict(a, r), range));
  gh::FindingChange change;
  change.finding = saving("a", 4'000'000, 4'500'000, 0);
  change.after_ns = 4e6;
  CHECK(gh::change_worth_text(change, a.words()) == "about 4.00 ms (nothing to 4.50 ms) a step");
}

TEST_CASE("uncertain: what is stored keeps the range of a saving") {
  const gh::Finding f = saving("a", 4'000'000, 4'500'000, 0);
  gh::Finding read;
  gh::read_json(gh::finding_json(f).dump(),
                [&](const gh::FieldReader& reader) { gh::finding_fields(reader, read); });
  CHECK(gh::amount_text(read) == "about 4.00 ms (nothing to 4.50 ms)");
  // Documents that were made before have none.
  gh::Json older = gh::finding_json(f);
  older.erase("alone_range_ns");
  gh::Finding from_older;
  gh::read_json(older.dump(),
                [&](const gh::FieldReader& reader) { gh::finding_fields(reader, from_older); });
  CHECK(from_older.predicted);
  CHECK(gh::amount_text(from_older) == "about 4.00 ms");
  gh::Json broken = gh::finding_json(f);
  broken["alone_range_ns"] = {5, 4};
  CHECK_THROWS_AS(
      gh::read_json(broken.dump(),
                    [&](const gh::FieldReader& reader) { gh::finding_fields(reader, read); }),
      gh::Error);
}

TEST_CASE("uncertain: a fix that may lose is to be tried") {
  gh::Finding f = saving("a", 4'000'000, 4'000'000, 0);
  f.about = false;
  f.predicted->least_ns = 5'600'000;
  f.predicted->most_ns = 12'000'000;
  f.predicted->may_lose = f.replayed->may_lose = true;
  const gh::Report r = uncertain(f, f);
  CHECK(gh::saves_text(f, r) == "may save up to 4.00 ms, 40 %, or nothing: try it");
  CHECK(gh::prediction_text(f) ==
        "5.60 ms to 12.0 ms with this fix alone: time both, as gh-advise try does (a test)");
}

TEST_CASE("uncertain: the step has its range, too") {
  const gh::Analysis a = ten_steps();
  gh::StepTime step = uncertain({}, {}).step;
  CHECK(gh::step_time_text(a, step) ==
        "A step takes 10.0 ms without the profiler's overhead, 9.00 ms to 14.0 ms as far as that "
        "is known; recorded, it took 15.0 ms.");
  gh::Report r = uncertain(saving("a", 4'000'000, 4'500'000, 0), saving("b", 0, 0, 0));
  CHECK(contains(gh::verdict_of(a, r).what,
                 "That costs about 4.00 ms (nothing to 4.50 ms), 40 % of each step of 10.0 ms "
                 "(9.00 ms to 14.0 ms)."));
  step.most_ns = r.step.most_ns = 11'000'000;
  CHECK(contains(gh::step_time_text(a, step), "overhead; recorded"));
  CHECK(contains(gh::verdict_of(a, r).what, "of each 10.0 ms step (40 %)."));
}

TEST_CASE("uncertain: a step that may be longer than said explains a range beyond it") {
  const gh::Analysis a = ten_steps();
  gh::Report r = uncertain(saving("a", 4'000'000, 4'000'000, 0), saving("b", 0, 0, 0));
  r.plan.emplace();
  r.plan->now = {10'000'000, 9'000'000, 14'000'000, ""};
  r.plan->fixes = {{"a", "a", {6'000'000, 5'000'000, 12'000'000, ""}}};
  CHECK(gh::plan_total_text(a, r) ==
        "Expect to measure 5.00 ms to 12.0 ms a step; as it is, a step takes 9.00 ms to 14.0 ms.");
  r.plan->fixes.front().step.most_ns = 14'000'000;
  CHECK(gh::plan_total_text(a, r) ==
        "This is uncertain: expect to measure 5.00 ms to 14.0 ms a step, and perhaps no gain at "
        "all; as it is, a step takes 9.00 ms to 14.0 ms.");
  // Of a step that is known, what is left may differ by no more than runs of it do.
  r.step.least_ns = r.plan->now.least_ns = 9'400'000;
  r.step.most_ns = r.plan->now.most_ns = 10'600'000;
  r.plan->fixes.front().step.most_ns = 10'100'000;
  CHECK(gh::plan_total_text(a, r) ==
        "This is uncertain: expect to measure 5.00 ms to 10.1 ms a step, and perhaps no gain at "
        "all.");
  r.plan->fixes.front().step.most_ns = 9'500'000;
  CHECK(gh::plan_total_text(a, r) == "Expect to measure 5.00 ms to 9.50 ms a step.");
}

TEST_CASE("uncertain: where it decides what saves most, the step is to be timed first") {
  const gh::Analysis a = ten_steps();
  // If recording slowed the host little, launching costs more than the products.
  const gh::Finding products = saving("products", 4'000'000, 4'500'000, 550'000),
                    launches = saving("launches", 2'000'000, 300'000, 5'000'000);
  CHECK(contains(gh::verdict_of(a, uncertain(products, launches)).first,
                 "Time a step without the profiler first (gh-advise record does that; or give it "
                 "with --measured-step): what recording added decides whether launches saves more. "
                 "Fix first: Mend products"));
  // Not where the first one stays the first, unless it may save next to nothing, ...
  const gh::Finding fewer = saving("launches", 2'000'000, 300'000, 550'000);
  CHECK(!contains(gh::verdict_of(a, uncertain(products, fewer)).first, "Time a step"));
  const gh::Finding few = saving("launches", 2'000'000, 300'000, 100'000);
  const gh::Finding vague = saving("products", 4'000'000, 4'500'000, 0);
  CHECK(contains(gh::verdict_of(a, uncertain(vague, few)).first, "whether this saves much"));
  // A saving that is small at its lower end, and more than half of what is expected, is as sure as
  // others.
  const gh::Finding none = saving("launches", 100'000, 100'000, 100'000);
  const auto first = [&](gh::Ns least_ns) {
    return gh::verdict_of(a, uncertain(saving("products", 700'000, 800'000, least_ns), none)).first;
  };
  CHECK(contains(first(300'000), "whether this saves much"));
  CHECK(!contains(first(400'000), "Time a step"));
  // ... and not where the step was measured.
  gh::Report measured = uncertain(products, launches);
  measured.step.from = gh::StepTime::From::measured;
  CHECK(!contains(gh::verdict_of(a, measured).first, "Time a step"));
}

TEST_CASE("uncertain: other work hides a fix only if it does at both ends") {
  CHECK(contains(gh::prediction_text(saving("a", 0, 0, 0)), "other work hides it"));
  CHECK(!contains(gh::prediction_text(saving("a", 0, 3'000'000, 0)), "other work hides it"));
  gh::Finding ceiling = saving("a", 0, 0, 0);
  ceiling.about = false;
  ceiling.predicted->least_ns = 4'000'000;
  ceiling.predicted->most_ns = 10'000'000;
  CHECK(gh::prediction_text(ceiling) == "4.00 ms to 10.0 ms with this fix alone (a test)");
}

TEST_CASE("uncertain: a loss that a note may explain is not unknown") {
  const gh::Analysis a = analysed(R"(return { repeats = { times = 10, every = 10000 },
    ranges = { { 0, 9990, "step {n}" } }, ops = { { 20, 4000, kernel = "work" } } })");
  gh::Report r;
  r.step = gh::StepTime(a);
  r.clean = {"some-rule"};
  CHECK(gh::quiet_text(a, r).text.starts_with("No known problem explains the largest loss: "));
  // The largest note, if it is most of that loss.
  r.findings = {saving("pauses", 3'500'000, 3'500'000, 3'500'000),
                saving("copies", 4'000'000, 4'000'000, 4'000'000)};
  for (gh::Finding& f : r.findings) f.severity = gh::Severity::note;
  CHECK(gh::quiet_text(a, r).text ==
        "No problem is certain; the largest that may be one: copies is slow.");
  for (gh::Finding& f : r.findings) f.alone_fraction = 0.2;
  CHECK(gh::quiet_text(a, r).text.starts_with("No known problem explains the largest loss: "));
}

TEST_CASE("uncertain: what may save next to nothing is no error") {
  // The host that launches for 26 of 39 ms, or for all of them, decides what faster products save.
  const gh::Analysis a(recorded("nvtx-lm-training"), gh::Classes(), {});
  const gh::Facts facts(a);
  const gh::Report r = gh::evaluate(gh::own_rules(), a, facts, {}, true, {});
  REQUIRE_FALSE(r.findings.empty());
  const gh::Finding& first = r.findings.front();
  CHECK(first.rule == "non-tensor-core-gemm");
  CHECK(first.alone_fraction > 0.3);
  CHECK(contains(gh::amount_text(first), " (nothing to "));
  CHECK(first.severity == gh::Severity::warning);
}

TEST_CASE("uncertain: what several fixes leave has its range where that reaches twice as long") {
  const gh::Analysis a = ten_steps();
  gh::Report r = uncertain(saving("a", 4'000'000, 4'000'000, 4'000'000),
                           saving("b", 3'000'000, 3'000'000, 3'000'000));
  const auto plan_to = [](gh::Ns most_ns) {
    gh::Plan plan;
    plan.now.step_ns = 10'000'000;
    plan.fixes = {{"a", "a", {6'000'000, 5'000'000, 7'000'000, ""}},
                  {"b", "b", {1'000'000, 500'000, most_ns, ""}}};
    return plan;
  };
  r.plan = plan_to(6'000'000);
  CHECK(contains(gh::verdict_of(a, r).first,
                 "and about 1.00 ms (10x; 500.0 us to 6.00 ms) with both fixes."));
  r.plan = plan_to(1'500'000);
  CHECK(contains(gh::verdict_of(a, r).first, "and about 1.00 ms (10x) with both fixes."));
}
