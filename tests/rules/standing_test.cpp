// The way of a finding: its estimate, what it saves in addition to others, and what is masked.
#include "rules/standing.hpp"

#include <algorithm>
#include <string>
#include <type_traits>

#include "rules/estimate.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "support/support.hpp"
#include "whatif/touched.hpp"

using namespace gh;

// Each stage sees the values of the one before and cannot change them.
static_assert(std::is_same_v<decltype(&estimate_of), Estimate (*)(const Said&, const Analysis&,
                                                                  const StepTime&, const Replay*)>);
static_assert(std::is_same_v<decltype(Placed::finding), const Estimated*>);
static_assert(std::is_same_v<decltype(&standing_alone), Standing (*)(const Estimated&)>);

namespace {

// Six steps of 1 ms in which the GPU is always busy: a product of 500 us, a small kernel of 400 us.
const std::string gpu_bound =
    R"(return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
  calls = { { 30, 942, "cudaStreamSynchronize" } },
  ops = { { 20, 520, kernel = "product", launched = { 10, 15 } }, { 521, 921, kernel = "small", launched = { 16, 21 } } } })";

// A rule with one finding, and what its fix changes about `products` and `small` kernels.
Rule rule_with(const std::string& id, const std::string& change, const std::string& more = "",
               const std::string& quiet = "false") {
  return load_rule("return { id = '" + id +
                       "', category = 'tests', title = 'A rule', since = '0.1', messages = { m = "
                       "'m' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
                       "evaluate = function(trace) if " +
                       quiet +
                       " then return {} end local products, small = trace:ops { name = "
                       "'product' }, trace:ops { name = 'small' } return { { subject = 's', "
                       "message = 'm', recoverable_ns = 0, change = { " +
                       change + " } " + more + " } } end }",
                   id + ".lua");
}

struct Evaluated {
  Analysis analysis{trace_from_text(gpu_bound), Classes(), {}};
  Facts facts{analysis};
  Report report;
  explicit Evaluated(const std::vector<Rule>& rules, const Accepted& accepted = {})
      : report(evaluate(rules, analysis, facts, {}, true, accepted)) {}

  const Finding& operator[](const std::string& rule) const {
    const auto& all = report.findings;
    return *std::find_if(all.begin(), all.end(), [&](const Finding& f) { return f.rule == rule; });
  }
};

const Rule gone = rule_with("gone", "{ remove = products }"),
           halved = rule_with("halved", "{ scale = products, by = 0.5 }"),
           other = rule_with("other", "{ scale = small, by = 0.5 }"),
           mixed = rule_with("mixed", "{ scale = products:plus(small), by = 0.75 }");

// Finds something only in steps that are shorter than the recorded ones.
const Rule in_short_steps =
    rule_with("in-short-steps", "{ scale = small, by = 0.5 }",
              ", evidence = small:evidence { most = 1 }", "trace:fact 'step.mean_ns' > 600000");

}  // namespace

TEST_CASE(
    "standing: what a better fix removes is not saved twice, and the prediction for the fix alone "
    "stays") {
  const Evaluated e({halved, other, gone});
  CHECK(e["gone"].recoverable_ns > 500'000);
  CHECK(e["gone"].after.empty());
  const Finding& f = e["halved"];
  CHECK(f.recoverable_ns == 0);
  CHECK(f.recoverable_fraction == 0);
  CHECK(f.alone_ns == doctest::Approx(250e3).epsilon(0.02));
  CHECK(f.predicted->step_ns == doctest::Approx(e["gone"].step_ns - f.alone_ns));
  CHECK(f.after == std::vector<std::string>{e["gone"].fingerprint});
  // An error by what it saves alone; its fix may be the easier one.
  CHECK(f.severity_alone == Severity::error);
  CHECK(f.severity == Severity::warning);
  CHECK(e.report.findings.back().rule == "halved");
  // Different kernels do not interfere.
  CHECK(e["other"].recoverable_ns == e["other"].alone_ns);
  CHECK(e["other"].after.empty());
}

TEST_CASE("standing: a finding that shares a part keeps the rest") {
  const Evaluated e({mixed, gone});
  CHECK(e["mixed"].alone_ns == doctest::Approx(225e3).epsilon(0.02));
  CHECK(e["mixed"].recoverable_ns == doctest::Approx(100e3).epsilon(0.02));
}

TEST_CASE("standing: a root keeps its own savings even if a consequence claims more") {
  const Evaluated e({rule_with("sign", "{ remove = products }", ", follows_from = 'root'"),
                     rule_with("root", "{ scale = products, by = 0.5 }")});
  CHECK(e.report.findings.front().rule == "root");
  CHECK(e["root"].after.empty());
  CHECK(e["sign"].alone_ns > 500'000);
  CHECK(e["sign"].recoverable_ns == e["sign"].alone_ns - e["root"].recoverable_ns);
}

TEST_CASE(
    "estimate: a fix that may lose is one to try: a note with what it saves at most, no plan") {
  const Rule gamble =
      rule_with("gamble", "{ scale = products, by = 0.8, least = 0.5, most = 1.2 }");
  const Evaluated e({gamble, halved});
  const Finding& f = e["gamble"];
  CHECK(is_to_try(f));
  CHECK_FALSE(f.about);
  CHECK(f.severity == Severity::note);
  CHECK(f.alone_ns == doctest::Approx(250e3).epsilon(0.02));
  CHECK(f.predicted->most_ns > f.step_ns);
  REQUIRE(e.report.plan->fixes.size() == 1);
  CHECK(e.report.plan->fixes.front().rule == "halved");
  // Nobody's saving is counted as made by it, nor its own as made by others.
  CHECK(e["halved"].after.empty());
  CHECK(f.after.empty());
  // It is a forecast where it gains at both ends, ...
  const Evaluated gains(
      {rule_with("gains", "{ scale = products, by = 0.8, least = 0.5, most = 0.9 }")});
  CHECK_FALSE(is_to_try(gains["gains"]));
  CHECK(gains["gains"].severity == Severity::warning);
  CHECK(gains.report.plan->fixes.size() == 1);
  // ... and where it may save nothing but does not lose.
  const Evaluated unsure(
      {rule_with("unsure", "{ scale = products, by = 0, least = 0, most = 1 }")});
  CHECK_FALSE(is_to_try(unsure["unsure"]));
  CHECK(unsure["unsure"].about);
}

TEST_CASE("estimate: a finding has the same one each time, and stays what the rule said") {
  const Evaluated e({halved, other, gone});
  for (const Finding& found : e.report.findings) {
    const Said said = found;  // what comes after it cannot reach it: all of that takes it as const
    const Estimate once = estimate_of(said, e.analysis, e.report.step, e.report.replay.get()),
                   again = estimate_of(said, e.analysis, e.report.step, e.report.replay.get());
    CHECK(once.alone_ns == found.alone_ns);
    CHECK(again.alone_ns == once.alone_ns);
    CHECK(once.replayed->step_ns == found.predicted->step_ns);
    CHECK(once.severity_alone == found.severity_alone);
    CHECK(ops_of(said.changes.at(0)) == ops_of(found.changes.at(0)));
    // Without a replay the rule's own claim counts, which is 0.
    CHECK(estimate_of(said, e.analysis, e.report.step, nullptr).alone_ns == 0);
  }
}

TEST_CASE("standing: each step makes new values from those before it") {
  const Evaluated e({halved, other, gone});
  const std::vector<Estimated> findings(e.report.findings.begin(), e.report.findings.end());
  std::vector<Placed> placed;
  for (const Estimated& f : findings) placed.push_back({&f, standing_alone(f)});
  const std::vector<Placed> first = ranked(placed), then = shared(first, *e.report.replay);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(first[i].standing.recoverable_ns == first[i].finding->alone_ns);
    CHECK(first[i].standing.after.empty());
    CHECK(then[i].finding == first[i].finding);
    CHECK(then[i].standing.recoverable_ns <= first[i].standing.recoverable_ns);
  }
  // Ranking by what is left moves what saves nothing more to the end; sharing alone does not.
  CHECK(then[1].finding->rule == "halved");
  CHECK(ranked(then).back().finding->rule == "halved");
  // All steps together, from the estimates alone, give what the report has.
  const std::vector<Finding> ordered = in_order(findings, e.report.replay.get());
  REQUIRE(ordered.size() == e.report.findings.size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    CHECK(ordered[i].rule == e.report.findings[i].rule);
    CHECK(ordered[i].recoverable_ns == e.report.findings[i].recoverable_ns);
    CHECK(ordered[i].message == e.report.findings[i].message);
  }
}

TEST_CASE("standing: suppressed findings take no share of the savings") {
  Suppression s;
  s.rule = "gone";
  s.subject = "*";
  const Evaluated e({halved, gone}, {{s}, "2026-01-01"});
  CHECK(e["halved"].recoverable_ns == e["halved"].alone_ns);
  CHECK(e["halved"].severity == Severity::error);
  CHECK(e.report.suppressed.size() == 1);
  REQUIRE(e.report.plan->fixes.size() == 1);
  CHECK(e.report.plan->fixes[0].rule == "halved");
}

TEST_CASE("standing: two fixes overlap by operation, by call and by host time") {
  const Analysis a(trace_from_text(gpu_bound), Classes(), {});
  const change::Graph graph{{0, 1, 2}, 0};
  const change::Remove removed{{2, 3}};
  const change::Scale scaled{{0}, {0.5, 0.5, 0.5}};
  const change::Drop dropped{{a.trace.ops.call[1], a.trace.ops.call[5]}};
  const change::Pause paused{{{0, {10, 30}, false}, {0, {90, 95}, true}}, {}};
  Touched touched(a.trace);
  touched.add({graph});
  CHECK_FALSE(touched.any_of({scaled}));  // a graph launches operations that take as long as before
  CHECK(touched.any_of({removed}));
  CHECK(ops_of(touched.rest_of({removed})[0]) == std::vector<Row>{3});
  CHECK(calls_of(touched.rest_of({dropped})[0]) == std::vector<Row>{a.trace.ops.call[5]});
  CHECK_FALSE(touched.any_of({paused}));
  touched.add({change::Pause{{{no_index, {20, 92}, false}}, {}}});
  const Changes rest = touched.rest_of({paused});
  REQUIRE(rest.size() == 1);
  REQUIRE(host_of(rest[0]).size() == 1);
  CHECK(host_of(rest[0])[0].span == Span{10, 20});
}

TEST_CASE("masked: rules run again on what a fix leaves, and findings refer to the recording") {
  const Evaluated e({in_short_steps, gone});
  CHECK(Evaluated({in_short_steps}).report.findings.empty());
  REQUIRE(e.report.plan->fixes.size() == 2);
  CHECK_FALSE(e.report.plan->fixes[0].masked);
  CHECK(e.report.plan->fixes[1].masked);
  const Finding& f = e.report.findings.back();
  REQUIRE(f.rule == "in-short-steps");
  CHECK(f.masked);
  CHECK(f.after == std::vector<std::string>{e["gone"].fingerprint});
  CHECK(f.confidence == "medium");
  // Half of 400 us of today's step of about 1 ms.
  CHECK(f.recoverable_ns == doctest::Approx(200e3).epsilon(0.05));
  CHECK(f.severity == Severity::note);
  CHECK(f.predicted->step_ns == e.report.plan->fixes[1].step.step_ns);
  // The evidence is at its place in the recording.
  const Ops& ops = e.analysis.trace.ops;
  REQUIRE(f.evidence.size() == 1);
  const auto op = std::find(ops.start.begin(), ops.start.end(), f.evidence[0].span.start);
  REQUIRE(op != ops.start.end());
  CHECK(ops.end[static_cast<std::size_t>(op - ops.start.begin())] == f.evidence[0].span.end);
  // It is not called clean, and suppressed findings are not reported for the future step either.
  CHECK(std::count(e.report.clean.begin(), e.report.clean.end(), "in-short-steps") == 0);
  Suppression s;
  s.rule = "in-short-steps";
  s.subject = "*";
  const Evaluated lived_with({in_short_steps, gone}, {{s}, "2026-01-01"});
  CHECK(lived_with.report.findings.size() == 1);
  REQUIRE(lived_with.report.suppressions.size() == 1);
  CHECK(lived_with.report.suppressions[0].second == SuppressionState::used);
}
