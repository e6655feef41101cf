// What CI systems are given beside SARIF: annotations of GitHub, JUnit and Markdown.
#include <algorithm>

#include "report/layout.hpp"
#include "support/gate_run.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("CI: annotations, JUnit and Markdown name what failed, and foreign text stays text" *
          slow_with_sanitizers) {
  const GateRun all("good", "starved");
  const auto github = lines_of(all.text("github"));
  CHECK(github.at(0).starts_with(
      "::error title=gh-advise::Regressed: data-loader-starvation is new"));
  CHECK(std::count_if(github.begin(), github.end(), [](const std::string& l) {
          return l.starts_with(
              "::error file=starved.sqlite,title=gh-advise%3A data-loader-starvation::[new] ");
        }) == 1);
  for (const std::string& line : github) CHECK(line.starts_with("::"));
  const std::string junit = all.text("junit");
  CHECK(contains(junit, "failures=\"2\" errors=\"0\""));
  CHECK(contains(junit,
                 "<testcase classname=\"gh-advise.input\" name=\"data-loader-starvation\">\n      "
                 "<failure type=\"data-loader-starvation\" message=\"[new] The GPU waits"));
  CHECK(contains(junit,
                 "<testcase classname=\"gh-advise.compute\" name=\"clock-throttle\">\n      "
                 "<skipped message=\"needs GPU metrics"));
  CHECK(contains(junit, "<testcase classname=\"gh-advise.launch\" name=\"host-sync\"/>"));
  CHECK(shell("/usr/bin/python3 -c \"import xml.dom.minidom, sys; "
              "xml.dom.minidom.parse(sys.argv[1])\" " +
              quoted(all.path("junit")))
            .status == 0);
  const std::string markdown = all.text("markdown");
  CHECK(markdown.starts_with("## ❌ gh-advise\n\n**Regressed: data-loader-starvation is new;"));
  CHECK(contains(markdown, "| **new** | error | `data-loader-starvation` |"));
  CHECK(contains(markdown, "| idle: input | 0 ns | 118.0 ms | +118.0 ms |"));
  CHECK(GateRun("starved", "good")
            .text("markdown")
            .starts_with("## ✅ gh-advise\n\n**Passes: data-loader-starvation is gone;"));
  CHECK(GateRun("good", "um")
            .text("markdown")
            .starts_with("## ❔ gh-advise\n\n**Cannot tell: another program"));
  CHECK(contains(GateRun("good", "um").text("junit"), "<error message=\"another program"));

  const TempDir dir;
  write_file(dir / "hostile.lua",
             rule_text("hostile", finds("0.5"))
                 .replace(rule_text("hostile", finds("0.5")).find("Share {share:fraction}."), 23,
                          "a\\n::warning::b | <script>x</script> @everyone `c` & 100%"));
  const std::string rules =
      "good.sqlite --select hostile --rules " + quoted(dir / "") + " --fail-on note --format ";
  CHECK(lines_of(advise(rules + "github").out).size() == 1);
  CHECK(contains(advise(rules + "github").out, "100%25"));
  CHECK(contains(advise(rules + "junit").out, "&lt;script&gt;x&lt;/script&gt;"));
  const std::string summary = advise(rules + "markdown").out;
  CHECK(contains(summary, "\\| \\<script\\>"));
  CHECK(!contains(summary, "@everyone"));
}

TEST_CASE("CI: foreign text in Markdown is neither markup nor a link, not even one by itself") {
  using gh::markdown_text;
  CHECK(markdown_text("[a](b) ![c](d) <e> `f` *g* _h_ ~i~ |j| # k") ==
        "\\[a\\](b) \\!\\[c\\](d) \\<e\\> \\`f\\` \\*g\\* \\_h\\_ \\~i\\~ \\|j\\| \\# k");
  CHECK(markdown_text("a@b &#64;c &lt; $x$ \\") ==
        "a@\u200bb \\&\\#\u200b64;c \\&lt; \\$x\\$ \\\\");
  CHECK(
      markdown_text("x/y#12 !3 #a http://z www.z WwW.z w.z ww.z a:b std::c") ==
      "x/y\\#\u200b12 \\!\u200b3 \\#a http:\u200b//z www.\u200bz WwW.\u200bz w.z ww.z a:b std::c");
  CHECK(markdown_text("a\nb\x1b[0m\u202e\u200b") == "a b \\[0m  ");
}

TEST_CASE("CI: no text in SARIF is a link") {
  const TempDir dir;
  std::string rule = rule_text("hostile", finds("0.5"));
  const std::string link = "[a](https://example.com)";
  for (const char* from : {"Share {share:fraction}.", "A rule of the team", "what = 'A."})
    rule.replace(rule.find(from) + std::string(from).size(), 0, link);
  write_file(dir / "hostile.lua", rule);
  const std::string sarif =
      advise("good.sqlite --select hostile --format sarif --rules " + quoted(dir / "")).out;
  CHECK(contains(sarif, "[a] (https://example.com)"));
  // In the rule's help, which is Markdown, what would be one is escaped.
  for (std::size_t at = sarif.find("]("); at != sarif.npos; at = sarif.find("](", at + 1))
    CHECK(sarif.substr(at - 2, 2) == "\\\\");
}

TEST_CASE("CI: JUnit is XML whatever stands in it") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "a\xef\xbf\xbe\x01<&\"'>\xff\u0085.sqlite");
  CHECK(advise("*.sqlite --format junit --output out.xml", {"", dir / ""}).status == 0);
  CHECK(advise("'\x01\xef\xbf\xbf<' --format junit --output err.xml", {"", dir / ""}).status == 2);
  for (const char* file : {"out.xml", "err.xml"})
    CHECK(shell("/usr/bin/python3 -c \"import xml.dom.minidom, sys; "
                "xml.dom.minidom.parse(sys.argv[1])\" " +
                quoted(dir / file))
              .status == 0);
}
