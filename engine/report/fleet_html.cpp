// A job's ranks as a page: who waits, the map of ranks by cause, and what to fix.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/html_parts.hpp"
#include "report/layout.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_columns =
    320;  // of the map: with its rows some thousands of cells, half a megabyte at worst
constexpr std::size_t most_findings = 40, most_rows = 256, most_late = 32;

// Shades of the map: a cell has the darkest of which its share of the job's step reaches the limit.
constexpr std::array<double, 7> limits{0.005, 0.01, 0.02, 0.05, 0.10, 0.20, 0.50};
constexpr std::array<double, 7> shades{0.08, 0.17, 0.28, 0.42, 0.58, 0.78, 1};

std::string at_most(const std::string& text) { return shortened(text, 1'500); }

// Ranks side by side, causes below each other. Where there are more ranks than columns, of each few
// the one that differs most from the middle rank is shown, as that is what one looks for.
// Neighbours in one shade are one rectangle.
std::string heat_map(const Fleet& fleet) {
  const std::size_t n = fleet.ranks.size(), each = (n + most_columns - 1) / most_columns,
                    columns = (n + each - 1) / each;
  std::vector<std::size_t> causes;
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    if (static_cast<double>(fleet.account[c].most) >= limits.front() * fleet.step_ns)
      causes.push_back(c);
  if (causes.empty() || fleet.step_ns <= 0) return "";
  constexpr double left = 190, right = 1000, top = 18, row_height = 20;
  const double width = (right - left) / static_cast<double>(columns),
               bottom = top + row_height * static_cast<double>(causes.size());
  const std::string said = fmt::format(
      "Ranks from left to right, causes from top to bottom; the darker, the more of the job's "
      "step{}",
      each > 1
          ? fmt::format(
                ". Of every {} ranks the one is drawn that differs most from the middle one", each)
          : "");
  std::string out = fmt::format(
      "<figure><figcaption>{0}</figcaption><svg class=strip viewBox=\"0 0 1010 {1:.0f}\" role=img "
      "aria-label=\"{0}\">",
      escaped(said), bottom + 44);
  for (std::size_t row = 0; row < causes.size(); ++row) {
    const std::size_t c = causes[row];
    const double y = top + row_height * static_cast<double>(row),
                 usual = static_cast<double>(fleet.account[c].middle);
    out += fmt::format("<text x={} y={:.0f} text-anchor=end>{}</text>", left - 6, y + 14,
                       escaped(shortened(cause_label(fleet.causes[c]), 32)));
    // A pattern, which tells idle time from other elsewhere, would not show in a narrow cell; here
    // each row has its name.
    const std::string colour =
        fleet.causes[c].starts_with("idle.")
            ? "style=\"fill:var(--idle)\""
            : fmt::format("class=\"{}\"", name_of(activity_of(fleet.causes[c])));
    struct Column {
      const FleetRank* rank;
      std::size_t shade;
    };
    std::vector<Column> cells;
    for (std::size_t i = 0; i < n; i += each) {
      const auto first = fleet.ranks.begin() + static_cast<std::ptrdiff_t>(i),
                 last = fleet.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(i + each, n));
      const FleetRank& r =
          *std::max_element(first, last, [&](const FleetRank& a, const FleetRank& b) {
            return std::abs(a.cause_ns[c] - usual) < std::abs(b.cause_ns[c] - usual);
          });
      cells.push_back(
          {&r, static_cast<std::size_t>(
                   std::upper_bound(limits.begin(), limits.end(), r.cause_ns[c] / fleet.step_ns) -
                   limits.begin())});
    }
    for (std::size_t i = 0; i < cells.size();) {
      std::size_t j = i;
      double least = cells[i].rank->cause_ns[c], most = least;
      for (; j < cells.size() && cells[j].shade == cells[i].shade; ++j) {
        least = std::min(least, cells[j].rank->cause_ns[c]);
        most = std::max(most, cells[j].rank->cause_ns[c]);
      }
      if (cells[i].shade > 0) {
        const FleetRank &a = *cells[i].rank, &b = *cells[j - 1].rank;
        const std::string who =
            &a == &b ? fmt::format("rank {}{}", a.rank, a.node.empty() ? "" : " on " + a.node)
                     : fmt::format("ranks {} to {}", a.rank, b.rank);
        const std::string time = duration(least) == duration(most)
                                     ? duration(most)
                                     : fmt::format("{} to {}", duration(least), duration(most));
        out += fmt::format(
            "<rect {} x={:.2f} y={:.0f} width={:.2f} height={} "
            "fill-opacity={}><title>{}</title></rect>",
            colour, left + width * static_cast<double>(i), y + 1,
            std::max(width * static_cast<double>(j - i), 0.5), row_height - 2,
            shades[cells[i].shade - 1],
            escaped(fmt::format("{}: {}, {} a step", who, cause_label(fleet.causes[c]), time)));
      }
      i = j;
    }
  }
  // Late ranks are marked above, and the first of each node below, where there is room for that.
  for (std::size_t i = 0; i < n; ++i) {
    const FleetRank& r = fleet.ranks[i];
    const double x = left + width * static_cast<double>(i / each);
    if (std::find(fleet.stragglers.begin(), fleet.stragglers.end(), r.rank) !=
        fleet.stragglers.end())
      out += fmt::format(
          "<rect class=\"mark error\" x={:.2f} y=4 width={:.2f} height=9><title>{}</title></rect>",
          x, std::max(width, 2.0),
          escaped(fmt::format("rank {}{} comes {} late", r.rank,
                              r.node.empty() ? "" : " on " + r.node, duration(r.late_ns))));
    if (i > 0 && fleet.nodes.size() > 1 && fleet.nodes.size() <= 64 &&
        r.node != fleet.ranks[i - 1].node)
      out += fmt::format("<line class=axis x1={0:.2f} x2={0:.2f} y1={1} y2={2:.0f} />", x, top,
                         bottom + 6);
  }
  if (!fleet.stragglers.empty())
    out += fmt::format("<text x={} y=13 text-anchor=end>late</text>", left - 6);
  out += fmt::format(
      "<text x={} y={:.0f}>rank {}</text><text x={} y={:.0f} text-anchor=end>rank {}</text>", left,
      bottom + 18, fleet.ranks.front().rank, right, bottom + 18, fleet.ranks.back().rank);
  double x = left;
  for (std::size_t s = 0; s < limits.size(); ++s, x += 100)
    out += fmt::format(
        "<rect class=kernels x={:.0f} y={:.0f} width=14 height=10 fill-opacity={} /><text x={:.0f} "
        "y={:.0f}>from {}</text>",
        x, bottom + 28, shades[s], x + 18, bottom + 37, percent(limits[s]));
  return out + "</svg></figure>\n";
}

std::string account_part(const Fleet& fleet) {
  HtmlTable table("A step's nanoseconds over ranks", {{"Cause"},
                                                      {"Least", true},
                                                      {"Lower quarter", true},
                                                      {"Middle", true},
                                                      {"Upper quarter", true},
                                                      {"Most", true},
                                                      {"Middle, drawn"}});
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    std::vector<Cell> cells{cause_label(fleet.causes[c])};
    const Quartiles& q = fleet.account[c];
    for (const Ns ns : {q.least, q.lower, q.middle, q.upper, q.most})
      cells.emplace_back(duration(ns), static_cast<double>(ns));
    cells.push_back(
        Cell::raw(plain_bar(static_cast<double>(q.middle) / std::max(fleet.step_ns, 1.0),
                            name_of(activity_of(fleet.causes[c])))));
    table.row(cells);
  }
  return table.html();
}

std::string waits_part(const Fleet& fleet) {
  std::string out = element("p", fleet_waits_text(fleet));
  const std::size_t shown = std::min(fleet.stragglers.size(), most_late);
  HtmlTable late(
      shown < fleet.stragglers.size()
          ? fmt::format("The latest {} of {} ranks that come late; all are in the JSON", shown,
                        fleet.stragglers.size())
          : "Ranks that come late",
      {{"Rank", true}, {"Node"}, {"Late a step", true}, {"Last in", true}, {"Late, of the step"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const FleetRank& r =
        *std::find_if(fleet.ranks.begin(), fleet.ranks.end(),
                      [&](const FleetRank& one) { return one.rank == fleet.stragglers[i]; });
    late.row({Cell(std::to_string(r.rank), static_cast<double>(r.rank)), r.node,
              Cell(duration(r.late_ns), r.late_ns), Cell(percent(r.last_fraction), r.last_fraction),
              Cell::raw(plain_bar(r.late_ns / fleet.step_ns, "worth"))});
  }
  HtmlTable nodes(
      "Nodes of which several ranks come late",
      {{"Node"}, {"Ranks", true}, {"Late", true}, {"Its middle rank's lateness", true}});
  for (const FleetNode& n : fleet.nodes)
    if (n.late > 1)
      nodes.row({n.node, Cell(std::to_string(n.ranks), static_cast<double>(n.ranks)),
                 Cell(std::to_string(n.late), static_cast<double>(n.late)),
                 Cell(duration(n.late_ns), n.late_ns)});
  return out + late.html() + nodes.html();
}

std::string plan_part(const Fleet& fleet, const std::vector<const FleetFinding*>& findings) {
  const auto link = [&](const std::string& fingerprint) {
    for (std::size_t i = 0; i < findings.size(); ++i)
      if (findings[i]->finding.fingerprint == fingerprint)
        return i < most_findings ? fmt::format("<a href=\"#finding-{0}\">{0}. {1}</a>", i + 1,
                                               escaped(findings[i]->finding.title))
                                 : escaped(findings[i]->finding.title);
    return std::string();
  };
  HtmlTable plan("The job's step with these fixes made, one after the other: no less than this",
                 {{"Fix"}, {"Step then", true}, {"Length of the step"}});
  if (!fleet.plan.empty())
    plan.row({"as it is", Cell(duration(fleet.step_ns), fleet.step_ns),
              Cell::raw(plain_bar(1, "worth"))});
  for (std::size_t i = 0; i < fleet.plan.size(); ++i)
    plan.row(
        {Cell::raw((i > 0 ? "and " : "") + link(fleet.plan[i].fingerprint)),
         Cell("no less than " + duration(fleet.plan[i].least_step_ns), fleet.plan[i].least_step_ns),
         Cell::raw(plain_bar(fleet.plan[i].least_step_ns / fleet.step_ns, "worth"))});
  HtmlTable all("Every finding once, the best fix for the job first",
                {{"Finding"},
                 {"Severity"},
                 {"Ranks", true},
                 {"Worth to the job, at most", true},
                 {"Of the step"}});
  for (std::size_t i = 0; i < findings.size() && i < most_rows; ++i) {
    const Finding& f = findings[i]->finding;
    all.row({Cell::raw(link(f.fingerprint)),
             Cell::raw(fmt::format("<span class=\"severity {0}\">{0}</span>", name_of(f.severity))),
             Cell(fmt::format("{} of {}", findings[i]->ranks.size(), fleet.ranks.size()),
                  static_cast<double>(findings[i]->ranks.size())),
             Cell(duration(f.recoverable_ns), static_cast<double>(f.recoverable_ns)),
             Cell::raw(plain_bar(f.recoverable_fraction, "worth"))});
  }
  std::string out = plan.html();
  if (!out.empty())
    out +=
        element("p",
                "The job's step is its slowest rank's: a fix helps only as far as the next slowest "
                "one. How ranks wait for each other once something is fixed, no replay tells.",
                "class=faint");
  return out + all.html() +
         (findings.empty()
              ? element("p", "Nothing was found by the rules that could look.", "class=good")
              : "");
}

std::string finding_part(std::size_t number, const FleetFinding& of, const Fleet& fleet) {
  const Finding& f = of.finding;
  std::string out = fmt::format(
      "<article class=finding id=\"finding-{0}\" aria-labelledby=\"finding-{0}-title\"><h3 "
      "id=\"finding-{0}-title\"><span class=\"severity {1}\">{0}. {1}</span>: {2}</h3>\n",
      number, name_of(f.severity), escaped(f.title));
  out += element("p", at_most(f.message));
  if (f.recoverable_ns > 0)
    out += element(
        "p", fmt::format("Worth at most {} of the job's {} step ({}).", duration(f.recoverable_ns),
                         duration(fleet.step_ns), percent(f.recoverable_fraction)));
  if (!f.follows_from.empty())
    out += element(
        "p", fmt::format("Follows from {}: that fix probably cures this as well.", f.follows_from));
  std::vector<std::string> advice = f.advice;
  for (std::string& a : advice) a = at_most(a);
  out += bullets(advice, "fix");
  HtmlTable evidence("Where it can be seen in the worst rank's report",
                     {{"At", true}, {"For", true}, {"What"}, {"Note"}});
  for (const Evidence& e : f.evidence)
    evidence.row({Cell(fmt::format("{:.4f} s", static_cast<double>(e.span.start) / 1e9),
                       static_cast<double>(e.span.start)),
                  Cell(duration(e.span.length()), static_cast<double>(e.span.length())),
                  shortened(e.name, 200), shortened(e.note, 300)});
  return out + evidence.html() + element("p", "gh-advise explain " + f.rule, "class=faint") +
         "</article>\n";
}

// The ranks in figures, those first that are least like the middle one.
std::string ranks_part(const Fleet& fleet) {
  std::string out;
  std::vector<std::string> unlike;
  for (const Unlike& u : fleet.unlike)
    unlike.push_back(at_most(fmt::format("{} {}: {}", u.ranks.size() == 1 ? "rank" : "ranks",
                                         ranks_text(u.ranks), u.what)));
  if (!unlike.empty()) out += element("h4", "Ranks that are not like the others") + bullets(unlike);
  const auto distance = [&](const FleetRank& r) {
    double sum = 0;
    for (std::size_t c = 0; c < fleet.causes.size(); ++c)
      sum += std::abs(r.cause_ns[c] - static_cast<double>(fleet.account[c].middle));
    return sum;
  };
  std::vector<std::pair<double, const FleetRank*>> order;
  for (const FleetRank& r : fleet.ranks) order.emplace_back(-distance(r), &r);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::size_t shown = std::min(order.size(), most_rows);
  std::vector<HtmlTable::Column> columns{
      {"Rank", true}, {"Node"}, {"Step", true}, {"Waits", true}, {"Late", true}};
  for (std::size_t c = 0; c < fleet.causes.size() && c < 8; ++c)
    columns.push_back({cause_label(fleet.causes[c]), true});
  HtmlTable table(
      shown < order.size()
          ? fmt::format(
                "The {} ranks of {} that are least like the middle one; all are in the JSON", shown,
                order.size())
          : "Every rank, the one that is least like the middle one first",
      columns);
  for (std::size_t i = 0; i < shown; ++i) {
    const FleetRank& r = *order[i].second;
    std::vector<Cell> cells{
        Cell(std::to_string(r.rank), static_cast<double>(r.rank)), r.node,
        Cell(duration(r.step_ns), r.step_ns),
        r.group < 0 ? Cell("unknown", -1) : Cell(duration(r.wait_ns), r.wait_ns),
        r.group < 0 ? Cell("unknown", -1) : Cell(duration(r.late_ns), r.late_ns)};
    for (std::size_t c = 0; c < fleet.causes.size() && c < 8; ++c)
      cells.emplace_back(duration(r.cause_ns[c]), r.cause_ns[c]);
    table.row(cells);
  }
  return out + "<details><summary>As a table</summary>" + table.html() + "</details>\n";
}

std::string rules_part(const Fleet& fleet) {
  std::vector<std::string> clean, lacking, suppressed;
  for (const auto& [id, outcome] : fleet.rules) {
    const bool found = std::any_of(fleet.findings.begin(), fleet.findings.end(),
                                   [&](const FleetFinding& f) { return f.finding.rule == id; });
    if (!outcome.reason.empty())
      lacking.push_back(at_most(fmt::format("{}: {}", id, outcome.reason)));
    else if (!found)
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

}  // namespace

std::string render_fleet_html(const Fleet& fleet, const std::vector<std::string>& errors) {
  std::vector<const FleetFinding*> findings;
  for (const FleetFinding& f : fleet.findings)
    if (!f.suppressed) findings.push_back(&f);
  std::vector<std::string> notes = fleet.notes;
  for (std::size_t i = 0; i < errors.size() && i < 20; ++i) notes.push_back(at_most(errors[i]));
  if (errors.size() > 20)
    notes.push_back(fmt::format("{} more digests could not be read", errors.size() - 20));
  std::string shown;
  for (std::size_t i = 0; i < findings.size() && i < most_findings; ++i)
    shown += finding_part(i + 1, *findings[i], fleet);
  std::string body =
      "<a class=skip href=\"#findings\">Skip to the findings</a>\n<header><p "
      "class=faint>gh-advise</p>" +
      element("h1", fleet_step_text(fleet) + ".") +
      element("p", fleet_count_text(fleet), "class=where") + bullets(notes) + "</header>\n<main>\n";
  body += section("plan", "What to fix first", plan_part(fleet, findings)) +
          section("map", "Ranks by cause", heat_map(fleet)) +
          section("waits", "Who waits for whom", waits_part(fleet)) +
          section("account", "Where a step goes, over ranks", account_part(fleet)) +
          section("findings", "Findings", shown) + section("ranks", "Ranks", ranks_part(fleet)) +
          section("rules", "What else was looked at", rules_part(fleet));
  body += fmt::format(
      "</main>\n<footer>Made by gh-advise {}; nothing on this page is fetched from "
      "anywhere.</footer>\n",
      GH_ADVISE_VERSION);
  return html_page("gh-advise: " + fleet_count_text(fleet), body,
                   R"({"activities":[],"names":[],"views":[]})");
}

}  // namespace gh
