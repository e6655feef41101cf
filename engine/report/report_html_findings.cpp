// Each finding with its evidence, and what else the rules looked at.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/concerned.hpp"
#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/prose.hpp"
#include "report/report_page.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

// The first findings have a timeline for several pieces of evidence, the others for the worst.
constexpr std::size_t first_findings = 8, most_timelines_of_first = 5;
constexpr std::size_t most_pieces = 1'500;  // of one timeline
constexpr std::size_t most_evidence = 10, most_advice = 8, most_metrics = 20, most_rule_lines = 40;
constexpr std::size_t uses_open = 6;  // rows of what is concerned that are not folded

std::size_t timelines_of(const ReportPage& page, std::size_t finding) {
  return std::min(page.report.findings[finding].evidence.size(),
                  finding < first_findings ? most_timelines_of_first : std::size_t{1});
}

// Of how many pieces a timeline may be, so that all of them have room.
std::size_t pieces_of_each(const ReportPage& page) {
  std::size_t timelines = 0;
  for (std::size_t i = 0; i < page.findings_shown(); ++i) timelines += timelines_of(page, i);
  return timelines == 0 ? 0 : std::min(page.allowed.pieces / timelines, most_pieces);
}

std::string legend_of_calls() {
  std::vector<LegendItem> items{{"box", "the evidence"}};
  for (const Activity a : {Activity::range, Activity::call_launch, Activity::call_sync,
                           Activity::call_allocation, Activity::os_call})
    items.emplace_back(name_of(a), label_of(a));
  return legend(items, "Colours of the timelines") +
         remark(
             "GPU work and idle time have the colours above; what is pale is several things too "
             "short to be drawn apart.");
}

std::string where_text(const Evidence& e) {
  std::vector<std::string> where;
  if (e.device >= 0) where.push_back(fmt::format("device {}", e.device));
  if (e.stream >= 0) where.push_back(fmt::format("stream {}", e.stream));
  if (!e.thread.empty()) where.push_back(shortened(e.thread, 80));
  return fmt::format("{}", fmt::join(where, ", "));
}

std::string what_text(const ReportPage& page, const Evidence& e) {
  std::string what = e.name.empty()   ? e.note
                     : e.note.empty() ? e.name
                                      : e.name + " (" + e.note + ")";
  what = page.cut(what);
  if (!e.layer.empty()) what += ", in " + shortened(e.layer, 200);
  if (!e.source.file.empty())
    what += fmt::format(", {}:{}", shortened(e.source.file, 200), e.source.line);
  return page.cut(what, 500);
}

// A table of the evidence, and above it a figure that shows one piece of it after the other.
std::string evidence_html(const ReportPage& page, std::size_t finding, std::size_t pieces,
                          TimelineData& timelines) {
  const std::vector<Evidence>& evidence = page.report.findings[finding].evidence;
  if (evidence.empty()) return remark("No stretch of the trace stands for it alone.");
  const std::size_t number = finding + 1, drawn = pieces > 0 ? timelines_of(page, finding) : 0;
  HtmlTable table(fmt::format("Evidence, the worst first{}",
                              evidence.size() > most_evidence
                                  ? fmt::format(": {} of {}", most_evidence, evidence.size())
                                  : ""),
                  {{"Show"}, {"At", true}, {"Takes", true}, {"Where"}, {"What"}});
  table.becomes_lines();
  std::string figure;
  for (std::size_t i = 0; i < evidence.size() && i < most_evidence; ++i) {
    const Evidence& e = evidence[i];
    std::string button;
    if (i < drawn) {
      const std::size_t view =
          timelines.add(view_of(page.analysis, e, pieces),
                        fmt::format("Evidence {} of finding {}: {}, for {}", i + 1, number,
                                    seconds(e.span.start), duration(e.span.length())));
      if (i == 0)
        figure = fmt::format("<figure class=timeline id=timeline-{} data-view={}></figure>\n",
                             number, view);
      button = fmt::format(
          "<button type=button data-show={} data-figure=timeline-{} data-evidence={} "
          "aria-pressed={}>show {}</button>",
          view, number, i, i == 0 ? "true" : "false", i + 1);
    }
    table.row({Cell::raw(button), Cell(seconds(e.span.start), static_cast<double>(e.span.start)),
               Cell::time(e.span.length()), where_text(e), what_text(page, e)});
  }
  return figure + table.html();
}

std::string concerned_html(const ReportPage& page, const Finding& f) {
  const Concerned c = concerned_by(page.analysis, page.report, f);
  HtmlTable table(
      c.per_step ? "Kernels and calls concerned" + page.mean_of() : "What ran in the evidence",
      {{"Name"},
       {"Kind"},
       {c.per_step && page.analysis.has_steps() ? capitalized(page.analysis.words().per)
                                                : "How many",
        true},
       {"Time", true},
       {"Each", true}});
  for (const Use& u : c.uses) {
    const bool whole = std::abs(u.count - std::round(u.count)) < 1e-6;
    table.row({page.cut(u.name, 110), u.kind,
               Cell(fmt::format("{:.{}f}", u.count, whole ? 0 : 1), u.count), Cell::time(u.ns),
               Cell::time(u.ns / std::max(u.count, 1e-9))});
  }
  return folded(fmt::format("{} ({})",
                            c.per_step ? "Kernels and calls concerned" : "What ran in the evidence",
                            table.rows()),
                table.html(uses_open));
}

std::string metrics_html(const Finding& f) {
  HtmlTable table("What was measured", {{"Quantity"}, {"Value", true}, {"Compared with", true}});
  for (std::size_t i = 0; i < f.metrics.size() && i < most_metrics; ++i) {
    const Metric& m = f.metrics[i];
    table.row({shortened(m.name, 80), Cell(shown(m.value, m.unit), m.value),
               m.threshold ? Cell(shown(*m.threshold, m.unit), *m.threshold) : Cell("")});
  }
  return folded(fmt::format("What was measured ({})", table.rows()), table.html());
}

// A rule's documentation.
std::string rule_html(const ReportPage& page, const std::string& id) {
  const auto rule =
      std::find_if(page.rules.begin(), page.rules.end(), [&](const Rule& r) { return r.id == id; });
  if (rule == page.rules.end()) return "";
  std::string out;
  for (const auto& [title, text] : rule_parts(*rule))
    out += element("h4", title) + prose_paragraph(page.cut(text, 1'500));
  return folded("About the rule " + id, out);
}

// What the finding says, before its evidence.
std::string finding_head(const ReportPage& page, std::size_t finding) {
  const Finding& f = page.report.findings[finding];
  std::string out = fmt::format(
      "<article class=finding id=finding-{0} data-find=finding tabindex=-1 "
      "aria-labelledby=finding-{0}-title><h3 "
      "id=finding-{0}-title>{0}. {1}: {2} <code class=faint>{3}</code></h3>\n",
      finding + 1, severity_html(f.severity), escaped(page.cut(f.title)), escaped(f.rule));
  if (const std::string savings = savings_text(f, page.report); !savings.empty())
    out += fmt::format("<p>{} <strong>{}</strong> of {}</p>", is_to_try(f) ? "May save" : "Saves",
                       escaped(savings), whole_text(page.analysis, page.report.step));
  out +=
      prose_paragraph(page.cut(with_code_marked(f.message, f.marked.text)) + doubt_text(f), false);
  if (const std::string text = where_text(f); !text.empty())
    out += element("p", "In " + page.cut(text) + '.');
  if (const std::string text = prediction_text(f); !text.empty())
    out += element("p", fmt::format("The {}: {}", page.analysis.words().noun, page.cut(text)));
  if (const std::string text = sharing_text(f, page.report); !text.empty())
    out += element("p", "Shared with other findings: " + page.cut(text));
  if (!f.follows_from.empty())
    out += element(
        "p", fmt::format("Follows from {}: that fix probably cures this as well.", f.follows_from));
  std::vector<std::string> advice;
  for (std::size_t i = 0; i < f.advice.size() && i < most_advice; ++i)
    advice.push_back(page.cut(marked_advice(f)[i], 600));
  if (!advice.empty()) out += "<h4>What to do</h4>" + prose_list(advice, "fix");
  return out;
}

// Rules that could not look, with what to record for them.
std::string not_checked_html(const ReportPage& page) {
  std::vector<std::string> lines = not_checked_text(page.report, true);
  if (lines.size() > most_rule_lines) lines.resize(most_rule_lines);
  std::string out = "<ul>";
  for (const std::string& line : lines)
    out += "<li data-find=rule>" + prose_html(page.cut(line, 600)) + "</li>";
  return out + "</ul>\n";
}

std::string lines_html(const ReportPage& page, const char* title, std::vector<std::string> lines) {
  if (lines.empty()) return "";
  if (lines.size() > most_rule_lines) lines.resize(most_rule_lines);
  for (std::string& l : lines) l = page.cut(l, 600);
  return element("h3", title) + prose_list(lines);
}

// Names of rules, which the page's search finds.
std::string rule_names(const std::vector<std::string>& rules) {
  std::string out = "<ul class=names>";
  for (const std::string& rule : rules)
    out += "<li data-find=rule><code>" + escaped(shortened(rule, 80)) + "</code></li>";
  return out + "</ul>\n";
}

}  // namespace

std::string findings_section(const ReportPage& page, TimelineData& timelines) {
  const std::vector<Finding>& findings = page.report.findings;
  const std::size_t shown = page.findings_shown(), pieces = pieces_of_each(page);
  std::string out;
  if (shown > 0) out += legend_of_calls();
  std::set<std::string> documented;  // rules: once, with the first finding
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& f = findings[i];
    out += finding_head(page, i);
    out += evidence_html(page, i, pieces, timelines);
    out += concerned_html(page, f);
    out += metrics_html(f);
    if (documented.insert(f.rule).second) out += rule_html(page, f.rule);
    out += "</article>\n";
  }
  if (shown < findings.size())
    out += remark(
        fmt::format("{} more findings are listed above; the JSON has all that is known of them.",
                    findings.size() - shown));
  return out;
}

std::string rules_section(const ReportPage& page) {
  const Report& report = page.report;
  std::string out;
  if (!report.clean.empty())
    out += folded(fmt::format("Checked and clean: {} found nothing",
                              plural(static_cast<std::int64_t>(report.clean.size()), "rule")),
                  rule_names(report.clean));
  std::vector<std::string> suppressed, failed;
  for (const auto& [s, state] : report.suppressions)
    if (state == SuppressionState::used) suppressed.push_back(suppressed_text(s));
  for (const Failed& f : report.failed) failed.push_back(fmt::format("{}: {}", f.rule, f.error));
  if (!report.not_checked.empty())
    out += folded(fmt::format("Not checked: {}, and what each needs",
                              plural(static_cast<std::int64_t>(report.not_checked.size()), "rule")),
                  not_checked_html(page));
  out += lines_html(page, "Suppressed", suppressed);
  out += lines_html(page, "Rules that failed", failed);
  out += lines_html(page, "Left out on reading", page.analysis.trace.problems);
  return out;
}

}  // namespace gh
