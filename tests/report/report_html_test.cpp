// The page of a report.
#include "report/html_parts.hpp"
#include "report/report.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"
#include "support/traces.hpp"

using namespace support;

namespace {

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

TEST_CASE("html: any report's page stays below 2 MB, and what it leads to is there" *
          slow_with_sanitizers) {
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
    const std::string html = page(std::string(report) + " --rules " + quoted(dir / ""));
    check_page(html);
    CHECK(html.find("more findings are listed above") != html.npos);
  }
  // Sixty-four devices, four hundred steps on each (with sanitizers that would take a minute), and
  // each finding once more for each device.
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
      gh::trace_from_text("return { repeats = { times = " + std::string(sanitized ? "40" : "400") +
                          ", every = 1000 }, ranges = { " + ranges + "}, ops = { " + ops + "} }"),
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
                            {},
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

TEST_CASE("html: nothing in a page points elsewhere") {
  const std::string html = page("starved.sqlite");
  for (const char* outward :
       {" src=", "url(http", "@import", "//fonts", "fetch(", "XMLHttpRequest"}) {
    INFO(outward);
    CHECK(html.find(outward) == html.npos);
  }
  CHECK(html.find("default-src 'none'") != html.npos);
}

TEST_CASE("html: the policy allows the page's own script and style sheet, by their hashes, alone") {
  const TempDir dir;
  for (const std::string& html :
       {page("starved.sqlite"), page("diff starved.sqlite good.sqlite")}) {
    for (const auto& [tag, directive] :
         {std::pair("script", "script-src"), {"style", "style-src"}}) {
      const std::string open = std::string("<") + tag + ">", close = std::string("</") + tag + ">";
      const std::size_t from = html.find(open) + open.size();
      CHECK(html.find(open, from) == html.npos);
      const Ran hash =
          shell("openssl dgst -sha256 -binary " +
                quoted(write_file(dir / "text", html.substr(from, html.find(close, from) - from))) +
                " | base64");
      REQUIRE(hash.out.size() == 45);
      CHECK(contains(html,
                     std::string("; ") + directive + " 'sha256-" + hash.out.substr(0, 44) + "';"));
    }
    CHECK(!contains(html, "script-src 'unsafe"));
    CHECK(html.find("unsafe-inline") == html.find("style-src-attr 'unsafe-inline'") + 16);
  }
}

TEST_CASE("html: a page is of one report, or of one comparison") {
  const Ran two = advise("starved.sqlite good.sqlite --format html");
  CHECK(two.status == 2);
  CHECK(two.err ==
        "gh-advise: --format html takes one report, and there are 2; check them one at a time\n");
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
  CHECK(ran.out.find("<h1>This report cannot be judged: ") != ran.out.npos);
}
