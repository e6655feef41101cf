// A comparison in Markdown, for a pull request. What stands before the first <details> is short
// enough for a comment; the GitHub action posts that part.
#include <fmt/format.h>

#include <algorithm>

#include "report/cause_times.hpp"
#include "report/comparison_phrases.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

constexpr std::size_t most_of_message = 300;

const char* mark_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::passes: return "✅";
    case Verdict::regressed: return "❌";
    default: return "❔";
  }
}

std::string markdown_list(const char* title, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  std::string out = fmt::format("{}\n\n", title);
  for (const std::string& item : items) out += fmt::format("* {}\n", markdown_text(item));
  return out + '\n';
}

// What fails is bold.
std::string state_text(const char* state, bool fails) {
  return fails ? fmt::format("**{}**", state) : state;
}

std::string changed_findings(const Comparison& c) {
  std::string rows;
  for (const FindingChange& f : c.findings)
    if (f.change != FindingState::same)
      rows +=
          fmt::format("| {} | {} | `{}` | {} | {} |\n", state_text(name_of(f.change), f.fails),
                      name_of(f.finding.severity), f.finding.rule,
                      markdown_text(f.finding.title + (f.why.empty() ? "" : " (" + f.why + ")")),
                      markdown_text(change_worth_text(f, c.unit)));
  if (rows.empty()) return "";
  return "### Findings\n\n| change | severity | rule | | saves |\n|---|---|---|---|---|\n" + rows +
         '\n';
}

std::string failing_findings(const Comparison& c) {
  std::string items;
  for (const FindingChange& f : c.findings)
    if (f.fails)
      items += fmt::format(
          "* **{}**: {}{}\n", f.finding.rule,
          markdown_text(shortened(f.finding.message, most_of_message)),
          f.finding.advice.empty()
              ? ""
              : " *Fix:* " + markdown_text(shortened(f.finding.advice.front(), most_of_message)));
  return items.empty() ? "" : items + '\n';
}

std::string budgets(const Comparison& c) {
  std::string rows;
  for (const BudgetResult& b : c.budgets)
    if (!b.budget.where.empty())
      rows += fmt::format("| {} | {} |\n", state_text(name_of(b.state), b.fails),
                          markdown_text(b.message));
  return rows.empty() ? "" : "### Budgets\n\n| | |\n|---|---|\n" + rows + '\n';
}

std::string account_row(const std::string& label, const Difference& d) {
  return fmt::format("| {} | {} | {} | {}{} |\n", label, duration(d.before), duration(d.after),
                     signed_ns(d.after - d.before), d.real ? "" : " (noise)");
}

// The parts that matter, sorted by their time on the side where they take more.
std::string part_rows(const Comparison& c, std::vector<ChangedPart> parts) {
  std::erase_if(parts, [&](const ChangedPart& x) {
    return !matters(x.ns->before, c) && !matters(x.ns->after, c);
  });
  std::stable_sort(parts.begin(), parts.end(), [](const ChangedPart& x, const ChangedPart& y) {
    return std::max(x.ns->before, x.ns->after) > std::max(y.ns->before, y.ns->after);
  });
  std::string rows;
  for (const ChangedPart& x : parts) rows += account_row(markdown_text(x.label), *x.ns);
  return rows;
}

std::string table(const std::string& title, const std::string& rows) {
  return fmt::format("### {}\n\n| | before | now | |\n|---|---:|---:|---:|\n{}\n", title, rows);
}

std::string account(const Comparison& c) {
  return table(account_title(c.unit),
               account_row(fmt::format("**the {}** (median)", c.unit.noun), c.step) +
                   part_rows(c, changed_causes(c)));
}

std::string waits(const Comparison& c) {
  if (c.waits.empty()) return "";
  return table(path_title(c.unit), part_rows(c, changed_waits(c, 100)));
}

}  // namespace

std::string render_comparison_markdown(const Comparison& c) {
  std::string out =
      fmt::format("## {} gh-advise\n\n**{}**\n\n", mark_of(c.verdict), markdown_text(c.headline));
  out += markdown_list("Why it fails:", c.reasons);
  out += markdown_list("What cannot be compared:", c.incomparable);
  out += failing_findings(c);
  if (c.step.basis.empty()) return out;  // nothing could be read
  out += "<details><summary>What changed</summary>\n\n";
  out += changed_findings(c);
  out += budgets(c);
  out += account(c);
  out += waits(c);
  out += markdown_list("Notes:", c.notes);
  out += markdown_list("Exceptions:", suppression_lines(c));
  out += "</details>\n\n";
  out += fmt::format("<sub>before: {}; now: {}; {}; gh-advise {}</sub>\n", markdown_text(c.before),
                     markdown_text(c.after), markdown_text(basis_text(c.step)), GH_ADVISE_VERSION);
  return out;
}

}  // namespace gh
