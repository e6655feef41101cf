// What to fix first: the plan, and every finding with what it is worth alone.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_findings_listed = 200;

// The steps, or windows, that the fixes leave, one after the other. A bar's mark is the range in
// which one is expected, if the plan is a forecast.
std::string plan_table(const ReportPage& page, const Plan& p) {
  const bool forecast = p.ceiling.empty();
  const auto full = static_cast<double>(std::max<Ns>(p.now.step_ns, 1));
  const std::string unit = page.analysis.words().noun;
  HtmlTable table(fmt::format("The {} with these fixes made, one after the other{}", unit,
                              forecast ? "; brackets mark the range that you can expect to measure"
                              : is_limit(p) ? ": no less than this"
                                            : ""),
                  {{"Fix"},
                   {capitalized(unit) + " then", true},
                   {"Faster", true},
                   {"Expected", true},
                   {"Length of the " + unit}});
  table.becomes_lines();
  const auto expected = [&](const Prediction& s) {
    return forecast ? Cell(fmt::format("{} to {}", duration(s.least_ns), duration(s.most_ns)),
                           static_cast<double>(s.least_ns))
                    : Cell("unknown");
  };
  const auto bar = [&](const Prediction& s) {
    const auto part = [&](Ns ns) { return static_cast<double>(ns) / full; };
    const auto mark = std::pair(part(s.least_ns), part(s.most_ns));
    return Cell::raw(
        plain_bar(part(s.step_ns), "worth", forecast ? std::optional(mark) : std::nullopt));
  };
  table.row({p.measured ? "as it is, measured without the profiler"
                        : "as it is, without the profiler's overhead",
             Cell(step_text(p, p.now), full), "", p.measured ? Cell("") : expected(p.now),
             p.measured ? Cell::raw(plain_bar(1, "worth")) : bar(p.now)});
  const std::vector<PlanLine> lines = plan_lines(page.report);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const PlanLine& line = lines[i];
    const Prediction& s = p.fixes[i].step;
    const std::string words = fmt::format("{}. {}", line.number, page.cut(line.fix));
    const Cell fix =
        line.number <= page.allowed.findings
            ? Cell::raw(fmt::format("<a href=\"#finding-{}\">{}</a>", line.number, escaped(words)))
            : Cell(words);
    table.row({fix, Cell(step_text(p, s), static_cast<double>(s.step_ns)),
               speedup(line.before_ns, line.after_ns), expected(s), bar(s)});
  }
  return table.html();
}

std::string findings_table(const ReportPage& page) {
  HtmlTable table("Every finding, the best fix first, and what it saves",
                  {{"Finding"}, {"Severity"}, {"Saves"}, {"Of the " + page.analysis.words().noun}});
  table.searched_as("");
  table.becomes_lines();
  for (std::size_t i = 0; i < page.report.findings.size() && i < most_findings_listed; ++i) {
    const Finding& f = page.report.findings[i];
    const std::string savings = savings_text(f, page.report);
    const double share =
        static_cast<double>(f.alone_ns) / static_cast<double>(std::max<Ns>(f.step_ns, 1));
    const Cell title = i < page.allowed.findings
                           ? Cell::raw(page.link_to_finding(i + 1))
                           : Cell(fmt::format("{}. {}", i + 1, shortened(f.title, 200)));
    table.row({title, Cell::raw(severity_html(f.severity), static_cast<double>(f.severity)),
               Cell(savings.empty() ? (f.masked ? "after the fixes above" : "unknown") : savings,
                    static_cast<double>(f.alone_ns)),
               Cell::raw(plain_bar(share, "worth"), share)});
  }
  return table.html();
}

}  // namespace

std::string plan_section(const ReportPage& page) {
  std::string out;
  if (page.report.plan && !page.report.plan->fixes.empty()) {
    out += plan_table(page, *page.report.plan);
    out += remark(page.cut(plan_total_text(page.analysis, page.report)));
    for (const std::string& note : plan_notes(page.report)) out += remark(page.cut(note));
  }
  return out + findings_table(page);
}

}  // namespace gh
