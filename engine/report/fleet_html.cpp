// A job's ranks as a page: who waits, the map of ranks by cause, and what to fix.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/fleet_heat_map.hpp"
#include "report/fleet_phrases.hpp"
#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;
using Findings = std::vector<const FleetFinding*>;

constexpr std::size_t most_findings = 40, most_rows = 256, most_late = 32, most_errors = 20,
                      most_cause_columns = 8;

std::string at_most(const std::string& text) { return shortened(text, 1'500); }

Cell number_cell(std::int64_t n) { return {std::to_string(n), static_cast<double>(n)}; }

// A finding's title, as a link if the page shows it in full; "" if it is not among the findings.
std::string link(const Findings& findings, const std::string& fingerprint) {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& f = findings[i]->finding;
    if (f.fingerprint != fingerprint) continue;
    return i < most_findings
               ? fmt::format("<a href=\"#finding-{0}\">{0}. {1}</a>", i + 1, escaped(f.title))
               : escaped(f.title);
  }
  return "";
}

std::string plan_table(const Fleet& fleet, const Findings& findings) {
  const std::string& unit = fleet.unit.noun;
  HtmlTable table(
      fmt::format("The job's {} after these fixes, one after the other, at least", unit),
      {{"Fix"}, {capitalized(unit) + " then", true}, {"Length of the " + unit}});
  if (!fleet.plan.empty())
    table.row({"as it is", Cell::time(fleet.step_ns), Cell::raw(plain_bar(1, "worth"))});
  for (std::size_t i = 0; i < fleet.plan.size(); ++i) {
    const FleetFix& fix = fleet.plan[i];
    table.row({Cell::raw((i > 0 ? "and " : "") + link(findings, fix.fingerprint)),
               Cell("no less than " + duration(fix.least_step_ns), fix.least_step_ns),
               Cell::raw(plain_bar(fix.least_step_ns / fleet.step_ns, "worth"))});
  }
  return table.html();
}

std::string plan_section(const Fleet& fleet, const Findings& findings) {
  HtmlTable all("Every finding once, the best fix for the job first",
                {{"Finding"},
                 {"Severity"},
                 {"Ranks", true},
                 {"Saves the job, at most", true},
                 {"Of the " + fleet.unit.noun}});
  for (std::size_t i = 0; i < findings.size() && i < most_rows; ++i) {
    const Finding& f = findings[i]->finding;
    const std::size_t ranks = findings[i]->ranks.size();
    all.row({Cell::raw(link(findings, f.fingerprint)), Cell::raw(severity_html(f.severity)),
             Cell(fmt::format("{} of {}", ranks, fleet.ranks.size()), static_cast<double>(ranks)),
             Cell::time(f.recoverable_ns), Cell::raw(plain_bar(f.recoverable_fraction, "worth"))});
  }
  std::string out = plan_table(fleet, findings);
  if (!out.empty()) out += remark(fleet_plan_note(fleet));
  out += all.html();
  if (findings.empty()) out += element("p", "No rule that could run found anything.", "class=good");
  return out;
}

std::string waits_section(const Fleet& fleet) {
  const std::size_t shown = std::min(fleet.stragglers.size(), most_late);
  HtmlTable late(shown < fleet.stragglers.size()
                     ? fmt::format("The latest {} of {} late ranks; the JSON has all", shown,
                                   fleet.stragglers.size())
                     : "Late ranks",
                 {{"Rank", true},
                  {"Node"},
                  {"Late " + fleet.unit.per, true},
                  {"Last in", true},
                  {"Late, of the " + fleet.unit.noun}});
  for (std::size_t i = 0; i < shown; ++i) {
    const FleetRank& r = rank_numbered(fleet, fleet.stragglers[i]);
    late.row({number_cell(r.rank), r.node, Cell::time(r.late_ns), Cell::share(r.last_fraction),
              Cell::raw(plain_bar(r.late_ns / fleet.step_ns, "worth"))});
  }
  HtmlTable nodes(
      "Nodes with several late ranks",
      {{"Node"}, {"Ranks", true}, {"Late", true}, {"Its middle rank's lateness", true}});
  for (const FleetNode& n : fleet.nodes)
    if (n.late > 1)
      nodes.row({n.node, number_cell(n.ranks), number_cell(n.late), Cell::time(n.late_ns)});
  return element("p", fleet_waits_text(fleet)) + late.html() + nodes.html();
}

std::string account_section(const Fleet& fleet) {
  HtmlTable table(capitalized(fleet.unit.a) + "'s nanoseconds over ranks", {{"Cause"},
                                                                            {"Least", true},
                                                                            {"Lower quarter", true},
                                                                            {"Middle", true},
                                                                            {"Upper quarter", true},
                                                                            {"Most", true},
                                                                            {"Middle, drawn"}});
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    const Quartiles& q = fleet.account[c];
    const double middle = static_cast<double>(q.middle) / std::max(fleet.step_ns, 1.0);
    std::vector<Cell> cells{cause_label(fleet.causes[c])};
    for (const Ns ns : {q.least, q.lower, q.middle, q.upper, q.most})
      cells.push_back(Cell::time(ns));
    cells.push_back(Cell::raw(plain_bar(middle, name_of(activity_of(fleet.causes[c])))));
    table.row(cells);
  }
  return table.html();
}

std::string finding_html(std::size_t number, const Finding& f, const Fleet& fleet) {
  std::string out = fmt::format(
      "<article class=finding id=\"finding-{0}\" aria-labelledby=\"finding-{0}-title\"><h3 "
      "id=\"finding-{0}-title\">{1}: {2}</h3>\n",
      number, severity_html(f.severity, fmt::format("{}. {}", number, name_of(f.severity))),
      escaped(f.title));
  out += element("p", at_most(f.message));
  if (const std::string saves = fleet_saves_text(fleet, f); !saves.empty())
    out += element("p", capitalized(saves) + '.');
  if (!f.follows_from.empty())
    out += element(
        "p", fmt::format("Follows from {}: its fix probably solves this as well.", f.follows_from));
  std::vector<std::string> advice;
  for (const std::string& a : f.advice) advice.push_back(at_most(a));
  out += bullets(advice, "fix");
  HtmlTable evidence("Evidence in the worst rank's report",
                     {{"At", true}, {"For", true}, {"What"}, {"Note"}});
  for (const Evidence& e : f.evidence)
    evidence.row({Cell(seconds(e.span.start), static_cast<double>(e.span.start)),
                  Cell::time(e.span.length()), shortened(e.name, 200), shortened(e.note, 300)});
  return out + evidence.html() + remark("gh-advise explain " + f.rule) + "</article>\n";
}

std::string findings_section(const Fleet& fleet, const Findings& findings) {
  std::string out;
  for (std::size_t i = 0; i < findings.size() && i < most_findings; ++i)
    out += finding_html(i + 1, findings[i]->finding, fleet);
  return out;
}

// The ranks that differ most from the middle one come first.
std::vector<const FleetRank*> least_usual_first(const Fleet& fleet) {
  std::vector<std::pair<double, const FleetRank*>> order;
  for (const FleetRank& r : fleet.ranks) {
    double distance = 0;
    for (std::size_t c = 0; c < fleet.causes.size(); ++c)
      distance += std::abs(r.cause_ns[c] - static_cast<double>(fleet.account[c].middle));
    order.emplace_back(-distance, &r);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const FleetRank*> ranks;
  for (const auto& [distance, rank] : order) ranks.push_back(rank);
  return ranks;
}

std::string ranks_table(const Fleet& fleet) {
  const std::vector<const FleetRank*> ranks = least_usual_first(fleet);
  const std::size_t shown = std::min(ranks.size(), most_rows),
                    causes = std::min(fleet.causes.size(), most_cause_columns);
  std::vector<HtmlTable::Column> columns{{"Rank", true},
                                         {"Node"},
                                         {capitalized(fleet.unit.noun), true},
                                         {"Waits", true},
                                         {"Late", true}};
  for (std::size_t c = 0; c < causes; ++c) columns.push_back({cause_label(fleet.causes[c]), true});
  HtmlTable table(
      shown < ranks.size()
          ? fmt::format("The {} of {} ranks that differ most from the middle one; the JSON has all",
                        shown, ranks.size())
          : "All ranks; those that differ most from the middle one come first",
      columns);
  for (std::size_t i = 0; i < shown; ++i) {
    const FleetRank& r = *ranks[i];
    const Cell unknown("unknown", -1);
    std::vector<Cell> cells{number_cell(r.rank), r.node, Cell::time(r.step_ns),
                            r.group < 0 ? unknown : Cell::time(r.wait_ns),
                            r.group < 0 ? unknown : Cell::time(r.late_ns)};
    for (std::size_t c = 0; c < causes; ++c) cells.push_back(Cell::time(r.cause_ns[c]));
    table.row(cells);
  }
  return table.html();
}

std::string ranks_section(const Fleet& fleet) {
  std::string out;
  std::vector<std::string> unlike;
  for (const Unlike& u : fleet.unlike)
    unlike.push_back(at_most(fmt::format("{}: {}", ranks_label(u.ranks), u.what)));
  if (!unlike.empty()) out += element("h4", "Ranks that differ from the others") + bullets(unlike);
  return out + "<details><summary>As a table</summary>" + ranks_table(fleet) + "</details>\n";
}

std::string rules_section(const Fleet& fleet) {
  std::vector<std::string> clean, lacking, suppressed;
  for (const auto& [id, outcome] : fleet.rules) {
    if (!outcome.reason.empty())
      lacking.push_back(at_most(fmt::format("{}: {}", id, outcome.reason)));
    else if (!found_any(fleet, id))
      clean.push_back(id);
  }
  for (const auto& [s, state] : fleet.suppressions)
    if (state == SuppressionState::used) suppressed.push_back(at_most(suppression_text(s, state)));
  std::string out;
  if (!clean.empty())
    out += element("h4", "Checked and clean on all ranks") +
           element("p", fmt::format("{}", fmt::join(clean, ", ")));
  if (!lacking.empty()) out += element("h4", "Not checked") + bullets(lacking);
  if (!suppressed.empty()) out += element("h4", "Suppressed") + bullets(suppressed);
  return out;
}

// What a reader has to know first, also which digests could not be read.
std::vector<std::string> notes_of(const Fleet& fleet, const std::vector<std::string>& errors) {
  std::vector<std::string> notes = fleet.notes;
  for (std::size_t i = 0; i < errors.size() && i < most_errors; ++i)
    notes.push_back(at_most(errors[i]));
  if (errors.size() > most_errors)
    notes.push_back(fmt::format("{} more are left out", errors.size() - most_errors));
  return notes;
}

}  // namespace

std::string render_fleet_html(const Fleet& fleet, const std::vector<std::string>& errors) {
  Findings findings;
  for (const FleetFinding& f : fleet.findings)
    if (!f.suppressed) findings.push_back(&f);
  std::string body =
      "<a class=skip href=\"#findings\">Skip to the findings</a>\n<header><p "
      "class=faint>gh-advise</p>" +
      element("h1", fleet_step_text(fleet) + ".") +
      element("p", fleet_count_text(fleet), "class=where") + bullets(notes_of(fleet, errors)) +
      "</header>\n<main>\n";
  body += section("plan", "What to fix first", plan_section(fleet, findings));
  body += section("map", "Ranks by cause", heat_map(fleet));
  body += section("waits", "Who waits for whom", waits_section(fleet));
  body += section("account", fmt::format("Where {} goes, over ranks", fleet.unit.a),
                  account_section(fleet));
  body += section("findings", "Findings", findings_section(fleet, findings));
  body += section("ranks", "Ranks", ranks_section(fleet));
  body += section("rules", "What else was checked", rules_section(fleet));
  body += "</main>\n" + page_footer();
  // No timelines.
  return html_page("gh-advise: " + fleet_count_text(fleet), body,
                   R"({"activities":[],"names":[],"views":[]})");
}

}  // namespace gh
