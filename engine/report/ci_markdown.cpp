// A summary in Markdown for a pull request: the reports of `check`, or the job of `fleet`. What
// costs most comes first; tables that few need are folded.
#include <fmt/format.h>

#include <algorithm>

#include "report/ci_phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

constexpr std::size_t most_findings_shown = 10, most_message_shown = 300, most_fix_shown = 300;

// "**error** `unfused-norm`: TITLE, saves about 5.6 ms a step (12 %). MESSAGE *Fix:* ADVICE"
std::string finding_line(const CiFinding& f) {
  const char* severity = name_of(f.finding.severity);
  const std::string worth = ci_worth_text(f);
  std::string line =
      fmt::format("{} `{}`: {}{}. {}", f.fails ? fmt::format("**{}**", severity) : severity,
                  f.finding.rule, markdown_text(f.finding.title), worth.empty() ? "" : ", " + worth,
                  markdown_text(sentence(shortened(f.finding.message, most_message_shown))));
  if (!f.finding.advice.empty())
    line += fmt::format(
        " *Fix:* {}", markdown_text(sentence(shortened(f.finding.advice.front(), most_fix_shown))));
  return line;
}

std::string finding_lines(const CiResult& result, const std::string& report) {
  std::string lines;
  std::size_t count = 0;
  for (const CiFinding& f : result.findings) {
    if (f.report != report) continue;
    // What fails is never left out.
    if (++count <= most_findings_shown || f.fails) lines += fmt::format("* {}\n", finding_line(f));
  }
  if (count > most_findings_shown)
    lines += fmt::format("* {} findings in all; `gh-advise` lists the others\n", count);
  return lines;
}

std::string plan_list(const CiReport& report) {
  std::string lines;
  for (std::size_t i = 0; i < report.plan.size(); ++i)
    lines += fmt::format("{}. {}\n", i + 1, markdown_text(report.plan[i]));
  return lines.empty()
             ? ""
             : "What to fix, in this order:\n\n" + lines + '\n' +
                   (report.plan_total.empty() ? "" : markdown_text(report.plan_total) + "\n\n");
}

std::string folded_account(const CiReport& report) {
  std::string rows;
  for (const auto& [cause, fraction] : report.account)
    rows += fmt::format("| {} | {} |\n", markdown_text(cause), percent(fraction));
  return rows.empty()
             ? ""
             : "<details><summary>Where the time goes</summary>\n\n| | share |\n|---|---:|\n" +
                   rows + "\n</details>\n\n";
}

}  // namespace

std::string render_check_markdown(const CiResult& result) {
  std::string out = "## gh-advise\n\n";
  for (const std::string& e : result.errors) out += fmt::format("* ❔ {}\n", markdown_text(e));
  if (!result.errors.empty()) out += '\n';
  for (const CiReport& r : result.reports) {
    out += fmt::format("### {}\n\n", markdown_text(r.path));
    if (!r.verdict.empty()) out += fmt::format("**{}**\n\n", markdown_text(r.verdict));
    out += markdown_text(r.steps) + "\n\n";
    out += plan_list(r);
    const std::string findings = finding_lines(result, r.path);
    if (!findings.empty())
      out += findings + '\n';
    else if (r.verdict.empty())
      out += "No rule that could run found anything.\n\n";
    out += folded_account(r);
  }
  return out;
}

}  // namespace gh
