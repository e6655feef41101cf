// A summary in Markdown, of the reports of `check` or the job of `fleet`.
#include <fmt/format.h>

#include "report/ci_phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

std::string finding_rows(const CiResult& result, const std::string& report) {
  std::string rows;
  for (const CiFinding& f : result.findings) {
    if (f.report != report) continue;
    const char* severity = name_of(f.finding.severity);
    rows += fmt::format("| {} | `{}` | {} | {} |\n",
                        f.fails ? fmt::format("**{}**", severity) : severity, f.finding.rule,
                        markdown_text(f.finding.message), ci_worth_text(f));
  }
  return rows;
}

std::string account_rows(const CiReport& report) {
  std::string rows;
  for (const auto& [cause, fraction] : report.account)
    rows += fmt::format("| {} | {} |\n", markdown_text(cause_label(cause)), percent(fraction));
  return rows;
}

}  // namespace

std::string render_check_markdown(const CiResult& result) {
  std::string out = "## gh-advise\n\n";
  for (const std::string& e : result.errors) out += fmt::format("* ❔ {}\n", markdown_text(e));
  if (!result.errors.empty()) out += '\n';
  for (const CiReport& r : result.reports) {
    out += fmt::format("### {}\n\n{}\n\n", markdown_text(r.path), markdown_text(r.steps));
    const std::string findings = finding_rows(result, r.path);
    out += findings.empty()
               ? "Nothing was found by the rules that could look.\n\n"
               : "| severity | rule | | worth |\n|---|---|---|---|\n" + findings + '\n';
    const std::string account = account_rows(r);
    if (!account.empty()) out += "| where the time goes | |\n|---|---:|\n" + account + '\n';
  }
  return out;
}

}  // namespace gh
