// What a report does not show is said as a share, and the rest is judged.
#include <algorithm>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "report/verdict.hpp"
#include "rules/rules.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

// Five steps of 10 ms: a CUDA graph that was traced as a whole, then a kernel that fills the GPU,
// or that runs in one block.
gh::Analysis graph_until(int graph_ends_us, const std::string& blocks = "1320") {
  return analysed(
      "return { repeats = { times = 6, every = 10000 }, ranges = { { 0, 9990, 'step {n}' } }, ops "
      "= { { 20, " +
      std::to_string(graph_ends_us) + ", graph = true }, { " + std::to_string(graph_ends_us) +
      ", 9980, kernel = 'void my_kernel<float>(float*)', blocks = " + blocks + " } } }");
}

gh::Report report_with_graph(const gh::Analysis& a) {
  return gh::evaluate(gh::own_rules(), a, gh::Facts(a), {}, true, {});
}

bool is_among(const std::vector<std::string>& list, const char* one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

const gh::NotChecked* lacking(const gh::Report& report, const char* rule) {
  const auto it = std::find_if(report.not_checked.begin(), report.not_checked.end(),
                               [&](const gh::NotChecked& n) { return n.rule == rule; });
  return it == report.not_checked.end() ? nullptr : &*it;
}

}  // namespace

TEST_CASE("coverage: the share of the GPU's work that is not in graphs traced as a whole") {
  CHECK(graph_until(9000).coverage() == doctest::Approx(980.0 / 9960));
  CHECK(graph_until(500).coverage() == doctest::Approx(9480.0 / 9960));
  CHECK(analysed("return { ops = { { 20, 900, kernel = 'a' } } }").coverage() == 1);
}

TEST_CASE("coverage: where graphs hide most, rules that look into kernels are not clean") {
  const gh::Analysis a = graph_until(9000);
  const gh::Report r = report_with_graph(a);
  for (const char* rule : {"unfused-norm", "unfused-softmax", "device-copies", "kv-concat"}) {
    CAPTURE(rule);
    CHECK(!is_among(r.clean, rule));
    REQUIRE(lacking(r, rule));
    CHECK(contains(lacking(r, rule)->reason, "traced as a whole"));
    CHECK(lacking(r, rule)->record_with == "--cuda-graph-trace=node");
  }
  // What the host does is all there.
  for (const char* rule : {"host-sync", "data-loader-starvation"}) CHECK(is_among(r.clean, rule));
  const gh::ReportVerdict verdict = gh::verdict_of(a, r);
  CHECK(verdict.what.starts_with("90 % of the GPU's work could not be judged"));
  CHECK(!contains(verdict.what, "Nothing to fix was found."));
  CHECK(contains(verdict.first, "nsys profile --cuda-graph-trace=node"));
  CHECK(verdict.trouble);
}

TEST_CASE("coverage: where graphs hide little, the rest stands for all") {
  const gh::Analysis a = graph_until(500);
  const gh::Report r = report_with_graph(a);
  CHECK(is_among(r.clean, "unfused-norm"));
  CHECK(is_among(r.clean, "device-copies"));
  CHECK(!contains(gh::verdict_of(a, r).text(), "could not be judged"));
}

TEST_CASE("coverage: kernels beside the graphs are judged") {
  const gh::Analysis a = graph_until(5000, "1");
  const gh::Report r = report_with_graph(a);
  const auto low = std::find_if(r.findings.begin(), r.findings.end(),
                                [](const gh::Finding& f) { return f.rule == "low-sm-fill"; });
  REQUIRE(low != r.findings.end());
  // The graphs' time counts as kernel time.
  CHECK(contains(low->message, "50 % of the kernel time"));
  const gh::ReportVerdict verdict = gh::verdict_of(a, r);
  CHECK(contains(verdict.what, "50 % of the GPU's work could not be judged"));
  CHECK(contains(verdict.first, "nsys profile --cuda-graph-trace=node"));
}

TEST_CASE("coverage: every format says what was not judged") {
  const std::string unseen =
      "94 % of the GPU's work could not be judged: it is in CUDA graphs that were traced as a "
      "whole. Nothing to fix was found in the rest.";
  CHECK(contains(on_one_line(advise("compile-graphs.sqlite").out), unseen));
  CHECK(contains(on_one_line(advise("compile-graphs.sqlite").out),
                 "Coverage: the kernels of 5.6 % of the GPU's work are known."));
  CHECK(contains(on_one_line(advise("compile-graphs.sqlite --format html").out),
                 "work could not be judged: it is in CUDA graphs that were traced as a whole."));
  CHECK(contains(on_one_line(advise("compile-graphs.sqlite --format markdown").out), unseen));
  const auto json = report_of(advise("compile-graphs.sqlite --format json"));
  CHECK(contains(json["summary"]["verdict"].get<std::string>(), unseen));
  const double fraction = json["coverage"]["fraction"].get<double>();
  CHECK(fraction > 0.05);
  CHECK(fraction < 0.06);
  const auto& hidden = json["coverage"]["hidden"];
  REQUIRE(hidden.size() == 1);
  CHECK(hidden[0]["by"] == "whole_graphs");
  CHECK(hidden[0]["fraction"].get<double>() == doctest::Approx(1 - fraction));
  CHECK(hidden[0]["record_with"] == "--cuda-graph-trace=node");
  const auto whole = report_of(advise("good.sqlite --format json"));
  CHECK(whole["coverage"]["fraction"] == 1);
  CHECK(whole["coverage"]["hidden"].empty());
}
