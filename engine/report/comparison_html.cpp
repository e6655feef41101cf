// A comparison as a page, before and after side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparison_phrases.hpp"
#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"
#include "report/timeline_json.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_items = 50, most_changes = 200, most_facts = 200,
                      most_kernel_changes = 60, most_dots = 400;

std::string html_list(const char* title, std::vector<std::string> items) {
  if (items.empty()) return "";
  if (items.size() > most_items) items.resize(most_items);
  for (std::string& i : items) i = shortened(i, 1'000);
  return element("h2", title) + bullets(items);
}

// One side: its account as a bar, its steps as dots.
struct Side {
  std::string title, label;
  CauseTimes causes;
  const std::vector<Capture>& captures;

  double step_ns() const { return sum_of(causes); }
  Ns longest_step_ns() const {
    Ns longest = 0;
    for (const Capture& capture : captures)
      for (const Ns ns : capture.step_ns) longest = std::max(longest, ns);
    return longest;
  }
};

// Bars and plots of both sides have one scale: `bar_ns` and `plot_ns` are their lengths.
std::string side_html(const Side& side, const UnitWords& unit, double bar_ns, Ns plot_ns) {
  const std::vector<StackPart> parts = stack_of(side.causes);
  const double ns = side.step_ns();
  std::vector<StripDot> steps;
  for (const Capture& capture : side.captures)
    for (const Ns step : capture.step_ns)
      steps.push_back({static_cast<double>(steps.size()), step});
  return "<div>" + element("h3", shortened(side.title, 200)) +
         stacked_bar(side.label, parts, duration(ns), bar_ns > 0 ? ns / bar_ns : 1) +
         legend(parts) +
         strip_plot(capitalized(unit.many) + " in order", steps, {StripAxis::Of::order, unit},
                    plot_ns, most_dots) +
         "</div>\n";
}

std::string sides_html(const Comparison& c, const std::vector<Capture>& before,
                       const std::vector<Capture>& after) {
  Side was{"Before: " + c.before, c.unit.a + " before", {}, before},
      is{"Now: " + c.after, c.unit.a + " now", {}, after};
  for (const CauseChange& x : c.account) {
    was.causes.push_back({x.cause, x.ns.before});
    is.causes.push_back({x.cause, x.ns.after});
  }
  const double bar_ns = std::max(was.step_ns(), is.step_ns());
  const Ns plot_ns = std::max(was.longest_step_ns(), is.longest_step_ns());
  return "<div class=side>" + side_html(was, c.unit, bar_ns, plot_ns) +
         side_html(is, c.unit, bar_ns, plot_ns) + "</div>\n";
}

// Before, now, and the change with its sign.
template <class Text>
std::vector<Cell> change_cells(double before, double after, Text text) {
  return {Cell(text(before), before), Cell(text(after), after),
          Cell((after < before ? "-" : "+") + text(std::abs(after - before)), after - before)};
}

std::string ns_text(double ns) { return duration(ns); }

std::string parts_table(const std::string& title, const char* of,
                        const std::vector<ChangedPart>& parts) {
  HtmlTable table(title,
                  {{of}, {"Before", true}, {"Now", true}, {"Change", true}, {"More than noise"}});
  for (const auto& [label, ns] : parts) {
    if (ns->before <= 0 && ns->after <= 0) continue;
    std::vector<Cell> cells = change_cells(ns->before, ns->after, ns_text);
    cells.insert(cells.begin(), label);
    cells.push_back(ns->real ? "yes" : "no");
    table.row(cells);
  }
  return table.html();
}

std::string step_section(const Comparison& c, const std::vector<Capture>& before,
                         const std::vector<Capture>& after) {
  return element("p", fmt::format("{} before, {} now: {}{} ({})", duration(c.step.before),
                                  duration(c.step.after), change_text(c.step.effect),
                                  step_noise_text(c), basis_text(c.step))) +
         sides_html(c, before, after) +
         parts_table(fmt::format("Where the {}'s time changed", c.unit.noun), "Cause",
                     changed_causes(c)) +
         parts_table(fmt::format("What the {} waits for, where that changed", c.unit.noun),
                     "Waits for", changed_waits(c, 200));
}

// The reason for its state; if it changed, also the message and the fix.
std::string why_text(const FindingChange& f) {
  std::string text = f.why;
  if (f.change != FindingState::same) {
    text += (text.empty() ? "" : ". ") + f.finding.message;
    if (!f.finding.advice.empty()) text += " Fix: " + f.finding.advice.front();
  }
  return text;
}

std::string findings_section(const Comparison& c) {
  HtmlTable table("Findings on both sides", {{"Change"},
                                             {"Severity"},
                                             {"Finding"},
                                             {"Before", true},
                                             {"Now", true},
                                             {"Fails"},
                                             {"Why, and what to do"}});
  const auto cost = [](double ns) { return Cell(ns > 0 ? duration(ns) : "", ns); };
  for (std::size_t i = 0; i < c.findings.size() && i < most_changes; ++i) {
    const FindingChange& f = c.findings[i];
    table.row({Cell::raw(fmt::format("<span class=change-{0}>{0}</span>", name_of(f.change))),
               name_of(f.finding.severity),
               shortened(fmt::format("{}: {}", f.finding.rule, f.finding.title), 300),
               cost(f.before_ns), cost(f.after_ns), f.fails ? "yes" : "no",
               shortened(why_text(f), 800)});
  }
  return table.html();
}

std::string budgets_section(const Comparison& c) {
  HtmlTable table("Budgets", {{"State"}, {"Fact"}, {"Limit and figures"}});
  for (const BudgetResult& b : c.budgets)
    if (!b.budget.where.empty())
      table.row({name_of(b.state), shortened(b.budget.fact, 100), shortened(b.message, 500)});
  return table.html();
}

std::string kernels_section(const Comparison& c) {
  HtmlTable table("Kernels, by what they changed of " + c.unit.a, {{"Kernel"},
                                                                   {"Class"},
                                                                   {"Before", true},
                                                                   {"Now", true},
                                                                   {"Change", true},
                                                                   {"How many before", true},
                                                                   {"Now", true}});
  for (std::size_t i = 0; i < c.kernels.size() && i < most_kernel_changes; ++i) {
    const KernelChange& k = c.kernels[i];
    std::vector<Cell> cells{shortened(kernel_label(k.name), 300), class_label(k.kernel_class)};
    for (Cell& cell : change_cells(k.ns_before, k.ns_after, ns_text))
      cells.push_back(std::move(cell));
    cells.emplace_back(fmt::format("{:.1f}", k.count_before), k.count_before);
    cells.emplace_back(fmt::format("{:.1f}", k.count_after), k.count_after);
    table.row(cells);
  }
  return table.html();
}

std::string facts_section(const Comparison& c) {
  HtmlTable table("Other facts that changed",
                  {{"Fact"}, {"Before", true}, {"Now", true}, {"Change", true}});
  for (std::size_t i = 0; i < c.facts.size() && i < most_facts; ++i) {
    const FactChange& f = c.facts[i];
    std::vector<Cell> cells =
        change_cells(f.value.before, f.value.after, [&](double v) { return shown(v, f.unit); });
    cells.insert(cells.begin(), f.name);
    table.row(cells);
  }
  return table.html();
}

}  // namespace

std::string render_comparison_html(const Comparison& c, const std::vector<Capture>& before,
                                   const std::vector<Capture>& after) {
  std::string body =
      "<header><p class=faint>gh-advise</p>" + element("h1", shortened(c.headline, 500)) +
      bullets({shortened("before: " + c.before, 400), shortened("now: " + c.after, 400)}, "where") +
      "</header>\n<main>\n";
  body += html_list("Why it fails", c.reasons);
  body += html_list("What cannot be compared", c.incomparable);
  if (!c.step.basis.empty()) {
    body += section("step", "The " + c.unit.noun, step_section(c, before, after));
    body += section("findings", "Findings", findings_section(c));
    body += section("budgets", "Budgets", budgets_section(c));
    body += section("kernels", "Kernels", kernels_section(c));
    body += section("facts", "Facts", facts_section(c));
  }
  body += html_list("Notes", c.notes);
  body += html_list("Exceptions", suppression_lines(c));
  body += "</main>\n" + page_footer();
  return html_page("gh-advise: " + shortened(c.headline, 100), body, TimelineData(100).json());
}

}  // namespace gh
