// One report as a page: its head, and the order of its sections.
#include <fmt/format.h>

#include <algorithm>

#include "base/profile.hpp"
#include "report/cause_times.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/prose.hpp"
#include "report/report.hpp"
#include "report/report_page.hpp"
#include "report/verdict.hpp"

namespace gh {
namespace {

// A page of any report stays below 2 MB, so that it can be sent by mail. The next smaller allowance
// is taken where one does not do.
constexpr std::size_t most_page_bytes = 1'950'000;
constexpr Allowance allowances[] = {{30'000, 40, 2'000, 8'000, 800, 64, 200, 1'000},
                                    {8'000, 20, 600, 4'000, 400, 32, 100, 500},
                                    {1'500, 8, 250, 1'000, 100, 16, 30, 200},
                                    {0, 3, 120, 0, 50, 8, 15, 50}};

// The advice that the verdict cuts short, with its code to copy.
std::string first_advice(const ReportVerdict& verdict, const Report& report) {
  if (!verdict.trouble || report.findings.empty() || report.findings.front().advice.empty())
    return "";
  const Finding& first = report.findings.front();
  return verdict.first.find(first.advice.front()) == verdict.first.npos
             ? prose_paragraph(shortened_sentence(marked_advice(first).front(), 600))
             : "";
}

// The verdict's first step with its code marked, wherever it comes from.
std::string first_step(const ReportVerdict& verdict, const Report& report) {
  std::vector<std::string> sources = not_checked_text(report, true);
  for (const Finding& f : report.findings) {
    if (!f.advice.empty()) sources.push_back(marked_advice(f).front());
    sources.push_back(marked_short_fix(f));
  }
  for (const std::string& marked : sources)
    if (std::string step = with_code_marked(verdict.first, marked); step != verdict.first)
      return step;
  return verdict.first;
}

// What to do, before everything else.
std::string first_fix(const ReportVerdict& verdict, const Report& report) {
  if (verdict.first.empty()) return "";
  return "<p class=first>" + prose_html(shortened_sentence(first_step(verdict, report), 400)) +
         (report.findings.empty() ? ""
                                  : " <span class=faint>(<a href=\"#finding-1\">why</a>)</span>") +
         "</p>\n" + first_advice(verdict, report);
}

// Shown by the script, without which it does nothing.
constexpr const char* search_field =
    "<div class=find role=search hidden><label for=find>Find</label><input id=find type=search "
    "placeholder=\"kernel, range, finding or rule\" autocomplete=off spellcheck=false><span "
    "id=found class=faint role=status></span></div>\n";

// What the report is of: file, devices, what to know beside.
std::string where(const ReportPage& page) {
  constexpr std::size_t most_lines = 80;
  const Analysis& a = page.analysis;
  const std::size_t devices = std::min(a.devices.size(), page.allowed.devices);
  std::vector<std::string> lines{fmt::format("{}, {}", a.trace.path, recording_text(a))};
  for (std::size_t d = 0; d < devices; ++d) lines.push_back(device_text(a, a.devices[d]));
  if (a.devices.size() > devices)
    lines.push_back(fmt::format("{} more devices", a.devices.size() - devices));
  for (const std::string& note : side_notes(a, page.report.step)) lines.push_back(note);
  for (const std::string& periodic : periodic_texts(a)) lines.push_back(periodic);
  for (const std::string& loop : loop_texts(a, page.report)) lines.push_back(loop);
  if (const std::string units = units_text(a); !units.empty()) lines.push_back(units);
  if (const std::string privacy = privacy_text(a); !privacy.empty()) lines.push_back(privacy);
  for (std::string& l : lines) l = shortened(l, 400);
  if (lines.size() > most_lines) lines.resize(most_lines);
  return bullets(lines, "where");
}

std::string html_of(const ReportPage& page) {
  const Analysis& a = page.analysis;
  TimelineData timelines(page.allowed.text, a.words());
  // The overview is the first timeline, which the script does not let wait for others.
  const std::string overview = overview_section(page, timelines),
                    findings = findings_section(page, timelines);
  const ReportVerdict verdict = verdict_of(a, page.report);
  std::string body =
      "<a class=skip href=\"#findings\">Skip to the findings</a>\n<header><p "
      "class=faint>gh-advise</p>" +
      element("h1", page.cut(verdict.what)) + '\n' + first_fix(verdict, page.report) + where(page) +
      "</header>\n" + search_field + "<main>\n";
  body += section("plan", "What to fix first", plan_section(page));
  body += section("account", account_title(a.words()), account_section(page));
  body += section("devices", "Device by device", devices_section(page));
  body += section("path", path_title(a.words()), path_section(page));
  body += section("waits", waits_title(a.words()), waits_section(page));
  body += section("overview", "The whole window", overview);
  body += section("findings", "Findings", findings.empty() ? element("p", "None.") : findings);
  body += section("steps", fmt::format("How long {} take", a.words().many), steps_section(page));
  body += section("kernels", "Kernels", kernels_section(page));
  body += section("layers", "Layers, ranges and operators", layers_section(page));
  body += section("calls", "CUDA calls", calls_section(page));
  body += section("copies", "Copies over the link", copies_section(page));
  body += section("rules", "What else was looked at", rules_section(page));
  body += fmt::format(
      "</main>\n<footer>Made by gh-advise {} from this report alone; nothing on this page is "
      "fetched from anywhere. Timelines: drag or arrow keys pan, Ctrl + wheel or + and - zoom, n "
      "and p go from piece to piece, 0 shows the evidence. / goes to the search.</footer>\n",
      GH_ADVISE_VERSION);
  return html_page("gh-advise: " + shortened(a.trace.path, 100), body, timelines.json());
}

}  // namespace

std::string ReportPage::cut(const std::string& text, std::size_t most) const {
  return shortened_sentence(text, std::min(allowed.text, most));
}

std::size_t ReportPage::findings_shown() const {
  return std::min(report.findings.size(), allowed.findings);
}

std::string ReportPage::link_to_finding(std::size_t number) const {
  return fmt::format("<a href=\"#finding-{0}\">{0}. {1}</a>", number,
                     escaped(cut(report.findings[number - 1].title)));
}

std::string ReportPage::mean_of() const {
  if (!analysis.has_steps()) return "";
  return ", of a mean " + analysis.words().noun;
}

double ReportPage::steps() const {
  return static_cast<double>(std::max<std::int64_t>(analysis.step_count(), 1));
}

std::string render_html(const Analysis& a, const Report& report, const std::vector<Rule>& rules) {
  TableOptions options = layers_options();
  options.whole = true;
  const TablesReport layers =
      timed("layers", [&] { return tables_of(a, report.replay.get(), options); });
  std::string page;
  for (const Allowance& allowed : allowances) {
    page = html_of({a, report, rules, layers, allowed});
    if (page.size() <= most_page_bytes) break;
  }
  return page;
}

}  // namespace gh
