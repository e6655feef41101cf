// What to fix first: the plan, and every finding with what it is worth alone.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_findings_listed = 200;

// The steps, or windows, that the fixes leave, one after the other. A bar's mark is the range in
// which one is expected, where the plan is a forecast.
std::string plan_table(const ReportPage& page, const Plan& p) {
  const bool forecast = p.ceiling.empty();
  const auto full = static_cast<double>(std::max<Ns>(p.now.step_ns, 1));
  const auto numbers = fix_numbers(page.report);
  const std::string unit = page.analysis.words().noun;
  HtmlTable table(
      fmt::format("The {} with these fixes made, one after the other{}", unit,
                  forecast ? "; brackets show between what it is expected once measured"
                           : ": no less than this"),
      {{"Fix"}, {capitalized(unit) + " then", true}, {"Between", true}, {"Length of the " + unit}});
  table.becomes_lines();
  table.row({p.measured ? "as it is, measured without the profiler"
                        : "as it is, without what the profiler adds",
             Cell(step_text(p, p.now), full), "", Cell::raw(plain_bar(1, "worth"))});
  for (std::size_t i = 0; i < p.fixes.size(); ++i) {
    const Prediction& s = p.fixes[i].step;
    const auto step_ns = static_cast<double>(s.step_ns), least_ns = static_cast<double>(s.least_ns),
               most_ns = static_cast<double>(s.most_ns);
    const auto number = static_cast<std::size_t>(std::stoul(numbers[i].back()));
    const Cell fix = number <= page.allowed.findings
                         ? Cell::raw((i == 0 ? "" : "and ") + page.link_to_finding(number))
                         : Cell(p.fixes[i].rule);
    const std::string between = fmt::format("{} and {}", duration(s.least_ns), duration(s.most_ns));
    const auto range = std::pair(least_ns / full, most_ns / full);
    table.row({fix, Cell(step_text(p, s), step_ns),
               forecast ? Cell(between, least_ns) : Cell("unknown"),
               Cell::raw(plain_bar(step_ns / full, "worth",
                                   forecast ? std::optional(range) : std::nullopt))});
  }
  return table.html();
}

std::string findings_table(const ReportPage& page) {
  HtmlTable table("Every finding, the best fix first, and what it is worth",
                  {{"Finding"}, {"Severity"}, {"Worth"}, {"Of the " + page.analysis.words().noun}});
  table.searched_as("");
  table.becomes_lines();
  for (std::size_t i = 0; i < page.report.findings.size() && i < most_findings_listed; ++i) {
    const Finding& f = page.report.findings[i];
    const std::string worth = worth_text(f, page.analysis);
    const Cell title = i < page.allowed.findings
                           ? Cell::raw(page.link_to_finding(i + 1))
                           : Cell(fmt::format("{}. {}", i + 1, shortened(f.title, 200)));
    table.row({title, Cell::raw(severity_html(f.severity), static_cast<double>(f.severity)),
               Cell(worth.empty() ? "not told" : worth, static_cast<double>(f.recoverable_ns)),
               Cell::raw(plain_bar(f.recoverable_fraction, "worth"), f.recoverable_fraction)});
  }
  return table.html();
}

}  // namespace

std::string plan_section(const ReportPage& page) {
  std::string out;
  if (page.report.plan && !page.report.plan->fixes.empty()) {
    out += plan_table(page, *page.report.plan);
    for (const std::string& note : plan_notes(page.report)) out += remark(page.cut(note));
  }
  return out + findings_table(page);
}

}  // namespace gh
