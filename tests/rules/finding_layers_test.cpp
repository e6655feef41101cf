// Which layers of the program findings are about.
#include "rules/finding_layers.hpp"

#include <fmt/format.h>

#include <map>

#include "report/phrases.hpp"
#include "report/report.hpp"
#include "rules/finding_json.hpp"
#include "rules/rules.hpp"
#include "support/script.hpp"
#include "support/traces.hpp"

using gh::Finding;
using support::Script;

namespace {

// Four steps of eight blocks, with a product in each one's attention and MLP, an optimizer and a
// bit in no layer. Kernels are called after where they run: "attn", "mlp", "adam", "bare". Each MLP
// waits for the GPU first.
class Blocks {
 public:
  explicit Blocks(double adam_us = 400) : analysis_(support::analysed(trace(adam_us))) {}

  const gh::Analysis& analysis() const { return analysis_; }

  // Launched in the blocks from one to another, of any kernel if `kernel` is "".
  std::vector<gh::Row> ops(const std::string& kernel, int from = 0, int to = 7) const {
    const gh::Trace& t = analysis_.trace;
    std::vector<gh::Row> rows;
    std::map<std::string, int> seen;
    for (gh::Row op = 0; op < t.ops.size(); ++op) {
      const std::string& name = t.names[t.ops.name[op]];
      const int block = seen[name]++ % 8;
      const bool in_block = name == "attn" || name == "mlp";
      if ((kernel.empty() || name == kernel) && (!in_block || (from <= block && block <= to)))
        rows.push_back(op);
    }
    return rows;
  }

  Finding named(Finding f) const {
    std::vector<Finding> findings{std::move(f)};
    findings = gh::with_layers(std::move(findings), analysis_);
    return findings.front();
  }
  Finding changes(gh::Change change) const {
    Finding f;
    f.changes.push_back(std::move(change));
    return named(f);
  }
  Finding changes(std::vector<gh::Row> ops) const {
    return changes(gh::change::Scale{std::move(ops), {}});
  }
  Finding shows(const std::vector<gh::Row>& ops) const {
    Finding f;
    for (const gh::Row op : ops) {
      gh::Evidence e;
      e.span = analysis_.trace.span_of(op);
      e.device = 0;
      e.stream = 7;
      f.evidence.push_back(e);
    }
    return named(f);
  }

 private:
  static gh::Trace trace(double adam_us) {
    Script s;
    s.steps(4, [&] {
      for (int i = 0; i < 8; ++i)
        for (const std::string part : {"attn", "mlp"})
          s.range(fmt::format("blocks.{}.{}", i, part), [&] {
            if (part == "mlp") s.call("cudaStreamSynchronize");
            s.launch(part, 100);
          });
      s.range("optimizer", [&] { s.launch("adam", adam_us); });
      s.launch("bare", 20);
    });
    return s.nsys();
  }
  const gh::Analysis analysis_;
};

// "blocks.*.attn, 3 of 8 layers", as reports say it.
std::string layers_said(const Finding& f) { return gh::where_text(f); }

}  // namespace

TEST_CASE("finding layers: a finding in one layer names it") {
  const Blocks b;
  const Finding f = b.changes(b.ops("adam"));
  REQUIRE(f.layers.size() == 1);
  CHECK(f.layers[0].path == "optimizer");
  CHECK(f.layers[0].count == 1);
  CHECK(f.layers[0].of == 1);
  CHECK(f.layers[0].share == doctest::Approx(1));
  CHECK(layers_said(f) == "optimizer");
}

TEST_CASE("finding layers: of equal layers a finding says how many it concerns, of how many") {
  const Blocks b;
  CHECK(layers_said(b.changes(b.ops("attn", 5, 5))) == "blocks.5.attn, 1 of 8 layers");
  CHECK(layers_said(b.changes(b.ops("attn", 2, 4))) == "blocks.*.attn, 3 of 8 layers");
  CHECK(layers_said(b.changes(b.ops("attn"))) == "blocks.*.attn, 8 of 8 layers");
  // The layer around both.
  std::vector<gh::Row> both = b.ops("attn", 5, 5);
  for (const gh::Row op : b.ops("mlp", 5, 5)) both.push_back(op);
  CHECK(layers_said(b.changes(both)) == "blocks.5, 1 of 8 layers");
}

TEST_CASE("finding layers: a tenth elsewhere does not matter") {
  const Blocks b;
  std::vector<gh::Row> rows = b.ops("attn", 0, 7);
  rows.push_back(b.ops("bare").front());
  const Finding f = b.changes(rows);
  CHECK(layers_said(f) == "blocks.*.attn, 8 of 8 layers");
  CHECK(f.layers[0].share > 0.9);
  CHECK(f.layers[0].share < 1);
}

TEST_CASE("finding layers: one about several side by side names them, the most of it first") {
  const Blocks b(3000);
  std::vector<gh::Row> rows = b.ops("adam");
  for (const gh::Row op : b.ops("mlp")) rows.push_back(op);
  const Finding f = b.changes(rows);
  REQUIRE(f.layers.size() == 2);
  CHECK(f.layers[0].path == "optimizer");
  CHECK(f.layers[1].path == "blocks.*");
  CHECK(f.layers[0].share > f.layers[1].share);
  CHECK(layers_said(f) == "optimizer; blocks.*, 8 of 8 layers");
}

TEST_CASE("finding layers: one about the whole program names none") {
  // Blocks and optimizer take about the same, and all of both is meant.
  const Blocks b(1600);
  CHECK(b.changes(b.ops("")).layers.empty());
}

TEST_CASE("finding layers: one about most of the work, which lies in one layer, names none") {
  Script s;
  s.steps(4, [&] {
    s.range("model", [&] {
      s.launch("a", 500);
      s.launch("b", 500);
    });
    s.launch("bare", 20);
  });
  const gh::Analysis a = support::analysed(s.nsys());
  std::vector<gh::Row> all(a.trace.ops.size());
  for (gh::Row op = 0; op < all.size(); ++op) all[op] = op;
  Finding f;
  f.changes.push_back(gh::change::Scale{all, {}});
  std::vector<Finding> findings{f};
  findings = gh::with_layers(std::move(findings), a);
  CHECK(findings[0].layers.empty());
}

TEST_CASE("finding layers: what lies in no layer names none") {
  const Blocks b;
  CHECK(b.changes(b.ops("bare")).layers.empty());
  CHECK(layers_said(b.changes(b.ops("bare"))).empty());
}

TEST_CASE("finding layers: of calls that are changed, it is the layer that makes them") {
  const Blocks b;
  const gh::Trace& t = b.analysis().trace;
  std::vector<gh::Row> waits;
  for (gh::Row call = 0; call < t.calls.size(); ++call)
    if (t.names[t.calls.name[call]] == "cudaStreamSynchronize") waits.push_back(call);
  REQUIRE(waits.size() == 4 * 8);
  CHECK(layers_said(b.changes(gh::change::Unblock{waits})) == "blocks.*.mlp, 8 of 8 layers");
  waits.resize(3);
  CHECK(layers_said(b.changes(gh::change::Drop{waits})) == "blocks.*.mlp, 3 of 8 layers");
}

TEST_CASE("finding layers: each piece of evidence has the layer that launched it") {
  const Blocks b;
  const Finding f = b.shows({b.ops("attn", 5, 5)[1], b.ops("bare")[1], b.ops("adam")[1]});
  REQUIRE(f.evidence.size() == 3);
  CHECK(f.evidence[0].layer == "blocks.5.attn");
  CHECK(f.evidence[1].layer.empty());
  CHECK(f.evidence[2].layer == "optimizer");
}

TEST_CASE("finding layers: evidence, which is a sample, does not tell where all of it is") {
  const Blocks b;
  const Finding shown = b.shows({b.ops("mlp", 3, 3)[1], b.ops("mlp", 4, 4)[2]});
  CHECK(shown.layers.empty());
  CHECK(shown.evidence[1].layer == "blocks.4.mlp");
  Finding f;
  f.changes.push_back(gh::change::Scale{{b.ops("adam").front()}, {}});
  gh::Evidence e;
  e.span = b.analysis().trace.span_of(b.ops("attn")[8]);
  e.device = 0;
  f.evidence.push_back(e);
  const Finding named = b.named(f);
  CHECK(layers_said(named) == "optimizer");
  CHECK(named.evidence[0].layer == "blocks.0.attn");
}

TEST_CASE("finding layers: evidence on another stream, on none or of a thread has none") {
  const Blocks b;
  Finding f;
  gh::Evidence e;
  e.span = b.analysis().trace.span_of(b.ops("attn")[8]);
  f.evidence.push_back(e);  // of no device
  e.device = 0;
  e.stream = 8;
  f.evidence.push_back(e);
  e.device = 1;
  e.stream = -1;
  f.evidence.push_back(e);
  e.device = 0;
  f.evidence.push_back(e);
  const Finding named = b.named(f);
  for (const std::size_t i : {0, 1, 2}) CHECK(named.evidence[i].layer.empty());
  CHECK(named.evidence[3].layer == "blocks.0.attn");
}

TEST_CASE("finding layers: where nothing names layers, findings name none") {
  const gh::Analysis a = support::analysed(
      "return { ops = { { 0, 100, kernel = 'a' }, { 100, 200, kernel = 'b' } } }");
  Finding f;
  f.changes.push_back(gh::change::Remove{{0}});
  std::vector<Finding> findings{f};
  findings = gh::with_layers(std::move(findings), a);
  CHECK(findings[0].layers.empty());
  findings.clear();
  findings = gh::with_layers(std::move(findings), a);
  const gh::Analysis nothing = support::analysed("return {}");
  findings.emplace_back();
  findings = gh::with_layers(std::move(findings), nothing);
  CHECK(findings[0].layers.empty());
}

TEST_CASE("finding layers: what a rule finds has its layers, in words and in JSON") {
  const Blocks b;
  const gh::Rule rule = gh::load_rule(
      "return { id = 'slow-mlp', category = 'tests', title = 'Slow', since = '0.1', messages = { m "
      "= 'It is slow.' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
      "evaluate = function(trace) local ops = trace:ops { name = 'mlp' } return { { message = 'm', "
      "data = {}, subject = 'it', recoverable_ns = ops:sum 'duration_ns', advice = { 'Do it.' }, "
      "change = { { scale = ops, by = 0.5 } }, evidence = ops:evidence { most = 2 } } } end }",
      "slow-mlp.lua");
  const gh::Facts facts(b.analysis());
  const gh::Report report = gh::evaluate({rule}, b.analysis(), facts, {});
  CAPTURE(report.failed.empty() ? "" : report.failed[0].error);
  REQUIRE(report.findings.size() == 1);
  const Finding& f = report.findings[0];
  CHECK(layers_said(f) == "blocks.*.mlp, 8 of 8 layers");
  const gh::Json json = gh::finding_json(f);
  REQUIRE(json["layers"].size() == 1);
  CHECK(json["layers"][0]["path"] == "blocks.*.mlp");
  CHECK(json["layers"][0]["count"] == 8);
  CHECK(json["layers"][0]["of"] == 8);
  for (const auto& e : json["evidence"]) CHECK(e["layer"].get<std::string>().ends_with(".mlp"));
  CHECK(
      support::contains(gh::render_text(b.analysis(), report, {}), "blocks.*.mlp, 8 of 8 layers"));
}
