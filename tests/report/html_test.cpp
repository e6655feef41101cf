// Pages: what the engine puts into them. What a browser makes of them is asked by browser_test.mjs.
#include <cmath>
#include <map>

#include "analysis/ranks.hpp"
#include "program.hpp"
#include "read/nsys.hpp"
#include "report/html_parts.hpp"
#include "report/report.hpp"
#include "report/timeline.hpp"
#include "rules/literal_trace.hpp"

using namespace support;
using gh::Activity;
using gh::Ns;

namespace {

gh::Analysis recording(const std::string& name) {
  return gh::Analysis(gh::read_nsys(GH_FIXTURES "/" + name + ".sqlite"), gh::Classes(), {});
}

// Steps of 5 ms: 1 ms of a GEMM, then 400 kernels of 1 us that begin 2 us apart.
std::string many_small() {
  std::string ops = "{ 0, 1000, kernel = 'sm90_gemm_bf16', launched = { -20, -15 } }";
  for (int i = 0; i < 400; ++i)
    ops += ", { " + std::to_string(1000 + 2 * i) + ", " + std::to_string(1001 + 2 * i) +
           ", kernel = 'vectorized_elementwise_kernel', launched = { " + std::to_string(2 * i) +
           ", " + std::to_string(2 * i + 1) + " } }";
  return "return { repeats = { times = 4, every = 5000 }, ranges = { { -100, 4000, 'step {n}' } }, "
         "ops = { " +
         ops + " } }";
}

std::string page(const std::string& arguments) {
  const Ran ran = advise(arguments + " --format html");
  INFO(ran.err);
  REQUIRE(ran.out.starts_with("<!doctype html>"));
  return ran.out;
}

}  // namespace

TEST_CASE("html: foreign text becomes neither markup nor the end of an attribute") {
  CHECK(gh::escaped("<b a=\"1\" c='2'>&amp;\x1b[0m") ==
        "&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp; [0m");
  CHECK(gh::html_page("</title><script>", "", "{\"names\":[\"</script><script>\"]}")
            .find("</script><script>") == std::string::npos);
}

TEST_CASE("html: the overview's parts hold as much of each activity as the account") {
  for (const char* name : {"starved", "offload", "um", "ddp-straggler"}) {
    INFO(name);
    const gh::Analysis a = recording(name);
    const gh::Overview o = gh::overview_of(a, 12'000, 400);
    REQUIRE(o.devices.size() == a.devices.size());
    std::map<Activity, double> drawn, accounted;
    for (std::size_t d = 0; d < o.devices.size(); ++d) {
      for (const auto& part : o.devices[d].parts) {
        double all = 0;
        for (std::size_t i = 0; i < part.size(); ++i) {
          drawn[static_cast<Activity>(i)] += part[i] * static_cast<double>(o.span.length()) /
                                             static_cast<double>(o.devices[d].parts.size());
          all += part[i];
        }
        CHECK(all < 1.0001);
      }
      for (const auto& step : a.account.devices[d].step_ns)
        for (std::size_t c = 0; c < step.size(); ++c)
          accounted[gh::activity_of(a.account.causes[c])] += static_cast<double>(step[c]);
    }
    for (const auto& [activity, ns] : accounted) {
      INFO(name << ", " << gh::label_of(activity) << ": " << drawn[activity] / 1e6 << " ms drawn, "
                << ns / 1e6 << " ms accounted");
      // Devices begin and end their steps at other moments than the window of all.
      CHECK(std::abs(drawn[activity] - ns) <= 0.02 * static_cast<double>(a.total_ns()));
    }
  }
}

TEST_CASE("html: a view draws what is long by itself and counts what is short") {
  const gh::Analysis a(gh::trace_from_text(many_small()), gh::Classes(), {});
  gh::Evidence e;
  e.span = {6'200'000, 6'400'000};
  e.device = 0;
  const gh::View few = gh::view_of(a, e, 200), many = gh::view_of(a, e, 10'000);
  for (const gh::View* v : {&few, &many}) {
    CHECK(v->evidence == e.span);
    CHECK(v->detail.start <= e.span.start);
    CHECK(v->span.start <= v->detail.start);
    CHECK(v->span.end >= v->detail.end);
    bool streams = false;
    for (const gh::Lane& l : v->lanes) {
      if (!l.label.starts_with("stream")) continue;
      streams = true;
      std::size_t count = 0;
      Ns busy = 0, before = 0;
      for (const gh::Piece& p : l.pieces) {
        CHECK(p.span.start >= before);
        before = p.span.start;
        count += p.count;
        busy += p.busy_ns;
        if (p.count == 1 && p.span.length() == 1'000'000) CHECK(p.activity == Activity::products);
      }
      // Nothing is lost, however few pieces there are: each step has one GEMM and 400 kernels of 1
      // us.
      std::size_t expected = 0;
      Ns expected_busy = 0;
      for (gh::Row op = 0; op < a.trace.ops.size(); ++op)
        if (a.trace.ops.start[op] < v->span.end && a.trace.ops.end[op] > v->span.start) {
          ++expected;
          expected_busy += a.trace.ops.end[op] - a.trace.ops.start[op];
        }
      CHECK(count == expected);
      CHECK(busy == expected_busy);
    }
    CHECK(streams);
  }
  const auto pieces = [](const gh::View& v) {
    std::size_t n = 0;
    for (const gh::Lane& l : v.lanes) n += l.pieces.size();
    return n;
  };
  CHECK(pieces(few) <= 200);
  CHECK(pieces(many) > pieces(few));
}

TEST_CASE("html: the view of an idle stretch has the thread that let it happen") {
  const gh::Analysis a = recording("starved");
  gh::Evidence e;
  for (const gh::Idle& i : a.account.devices.front().idle)
    if (i.span.length() > e.span.length()) e.span = i.span;
  e.device = 0;
  const gh::View v = gh::view_of(a, e, 2'000);
  std::string lanes;
  bool idle = false;
  for (const gh::Lane& l : v.lanes) {
    lanes += l.label + '|';
    for (const gh::Piece& p : l.pieces)
      idle = idle || (p.activity == Activity::idle_input && p.span == e.span);
  }
  INFO(lanes);
  CHECK(lanes.starts_with("steps|ranges of "));
  CHECK(lanes.find("|CUDA calls of ") != lanes.npos);
  CHECK(lanes.find("|stream 7|") != lanes.npos);
  CHECK(idle);
}

TEST_CASE("html: any report's page stays below 2 MB, and what it leads to is there") {
  const auto check_page = [](const std::string& html) {
    CHECK(html.size() < 2'000'000);
    for (std::size_t at = 0; (at = html.find("href=\"#", at)) != html.npos; ++at) {
      const std::string id = html.substr(at + 7, html.find('"', at + 7) - at - 7);
      INFO(id);
      CHECK(
          (html.find("id=" + id + ' ') != html.npos || html.find("id=\"" + id + '"') != html.npos));
    }
  };
  // A rule that says as much as it may, 150 times over.
  const TempDir dir;
  write_file(dir / "loud.lua",
             rule_text("team-loud",
                       "    local found, long = {}, ('<very> & long '):rep(300)\n"
                       "    for i = 1, 150 do found[i] = { message = 'main', data = { share = 0.5 "
                       "}, subject = 'it ' .. i .. long, recoverable_ns = 1e6, advice = { long, "
                       "long, long, long, long, long },\n"
                       "      evidence = trace:ops { kind = 'kernel' }:evidence { most = 10 } } "
                       "end\n    return found"));
  for (const char* report :
       {"starved.sqlite", "eager-autogradnvtx.sqlite", "ddp-straggler.sqlite"}) {
    const std::string html = page(std::string(report) + " --rules '" + (dir / "").string() + "'");
    check_page(html);
    CHECK(html.find("more findings are listed above") != html.npos);
  }
  // Sixty-four devices, four hundred steps on each, and each finding once more for each device.
  std::string ops, ranges;
  for (int d = 0; d < 64; ++d) {
    int at = d % 7;
    for (const char* kernel :
         {"sm90_gemm_bf16", "flash_fwd_kernel", "vectorized_elementwise_kernel",
          "softmax_warp_forward", "layer_norm_kernel", "ncclDevKernel_AllReduce_Sum_bf16",
          "sgemm_128x64"}) {
      ops += "{ " + std::to_string(at) + ", " + std::to_string(at + 60 + d) + ", kernel = '" +
             kernel + "', rank = " + std::to_string(d) + " }, ";
      at += 110;
    }
    ranges += "{ -30, 900, 'step {n}', rank = " + std::to_string(d) + " }, ";
  }
  const gh::Analysis wide(
      gh::trace_from_text("return { repeats = { times = 400, every = 1000 }, ranges = { " + ranges +
                          "}, ops = { " + ops + "} }"),
      gh::Classes(), {});
  REQUIRE(wide.devices.size() == 64);
  const gh::Facts facts(wide);
  gh::Report report = gh::evaluate({}, wide, facts, {});
  for (int i = 0; i < 60; ++i) {
    gh::Finding f;
    f.rule = "team-wide";
    f.title = "wide <" + std::string(300, 'w') + ">";
    f.message = std::string(3'000, '<');
    f.fingerprint = std::to_string(i);
    f.advice.assign(8, std::string(600, '\''));
    for (int e = 0; e < 10; ++e)
      f.evidence.push_back({{e * 1'000'000, e * 1'000'000 + 900'000},
                            i,
                            -1,
                            "",
                            std::string(900, '&'),
                            std::string(900, '"'),
                            {}});
    report.findings.push_back(f);
  }
  const std::string html = gh::render_html(wide, report, {});
  check_page(html);
  CHECK(html.find("id=finding-40 ") == html.npos);  // so much does not fit with 40 findings in full
  CHECK(html.find("id=finding-1 ") != html.npos);
}

TEST_CASE("html: a stretch's kernels are those that ran in it") {
  const std::string html = page("eager-autogradnvtx.sqlite --range forward");
  const std::string kernels = html.substr(html.find("<section id=\"kernels\""));
  CHECK(kernels.find("of a mean stretch") < kernels.find("</section>"));
  CHECK(kernels.substr(0, kernels.find("</section>")).find("<td>optimizer</td>") ==
        std::string::npos);
}

TEST_CASE("html: threads of one name and number are told apart by the device's process") {
  gh::Trace t = gh::trace_from_text(
      "return { repeats = { times = 3, every = 1000 }, ranges = { { -30, 900, 'step {n}' } }, ops "
      "= { { 0, 600, kernel = 'a', launched = { -20, -15 } } } }");
  gh::Trace second = t;
  const gh::Analysis a(gh::joined({std::move(t), std::move(second)}, gh::Classes()), gh::Classes(),
                       {});
  REQUIRE(a.trace.threads.size() > 1);
  gh::Evidence e;
  e.span = {1'000'000, 1'500'000};
  e.device = a.trace.devices[a.devices.back().device].ordinal;
  e.thread = a.trace.thread_label(0);
  const auto same =
      std::count_if(a.trace.threads.begin(), a.trace.threads.end(),
                    [&](const gh::Thread& x) { return x.tid == a.trace.threads.front().tid; });
  REQUIRE(same > 1);
  // The second rank's ranges are drawn, not the first's; they are one thread's, so that a level
  // holds one range at a time.
  const gh::View v = gh::view_of(a, e, 1'000);
  std::size_t ranges = 0;
  for (const gh::Lane& l : v.lanes) ranges += l.label.starts_with("ranges of");
  CHECK(ranges == 1);
}

TEST_CASE("html: nothing in a page points elsewhere") {
  const std::string html = page("starved.sqlite");
  for (const char* outward :
       {" src=", "url(http", "@import", "//fonts", "fetch(", "XMLHttpRequest"}) {
    INFO(outward);
    CHECK(html.find(outward) == html.npos);
  }
  CHECK(html.find("default-src 'none'") != html.npos);
}

TEST_CASE("html: it is of one report, or of one comparison") {
  const Ran two = advise("starved.sqlite good.sqlite --format html");
  CHECK(two.status == 2);
  CHECK(two.err == "gh-advise: the format html is of one report: name one at a time\n");
  const std::string diff = page("diff starved.sqlite good.sqlite");
  CHECK(diff.find("a step before") != diff.npos);
  CHECK(diff.find("a step now") != diff.npos);
  const Ran gate = advise("gate good.sqlite --baseline starved.sqlite --format html");
  CHECK(gate.status == 0);
  CHECK(gate.out.find("data-loader-starvation is gone") != gate.out.npos);
}

TEST_CASE("html: a report without GPU work says that nothing could be judged") {
  const TempDir dir;
  const auto empty =
      run_sql(dir / "empty.sqlite",
              "CREATE TABLE META_DATA_EXPORT(name, value); CREATE TABLE META_DATA_CAPTURE(name, "
              "value); CREATE TABLE StringIds(id INTEGER, value TEXT);"
              "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.20.3')");
  const Ran ran = advise("'" + empty.string() + "' --format html");
  INFO(ran.err);
  CHECK(ran.out.find("<h1>Nothing could be judged: the report holds no GPU work.</h1>") !=
        ran.out.npos);
}
