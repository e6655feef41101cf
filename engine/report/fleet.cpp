// A job's ranks as people and programs read them.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/json.hpp"
#include "report/layout.hpp"
#include "report/report.hpp"
#include "rules/finding_json.hpp"

namespace gh {
namespace {

Json or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }
Json json_of(const Quartiles& q) { return {q.least, q.lower, q.middle, q.upper, q.most}; }
std::int64_t whole(double v) { return static_cast<std::int64_t>(v); }

std::string node_text(const FleetRank& r) { return r.node.empty() ? "" : " on " + r.node; }

const FleetRank& rank_of(const Fleet& fleet, std::int64_t rank) {
  return *std::find_if(fleet.ranks.begin(), fleet.ranks.end(),
                       [&](const FleetRank& r) { return r.rank == rank; });
}

}  // namespace

std::string fleet_count_text(const Fleet& fleet) {
  const auto n = static_cast<std::int64_t>(fleet.ranks.size());
  std::string text = n == fleet.world_size ? fmt::format("{} rank{}", n, n == 1 ? "" : "s")
                                           : fmt::format("{} of {} ranks", n, fleet.world_size);
  if (!fleet.nodes.empty() && std::none_of(fleet.ranks.begin(), fleet.ranks.end(),
                                           [](const FleetRank& r) { return r.node.empty(); }))
    text += fmt::format(" on {} node{}", fleet.nodes.size(), fleet.nodes.size() == 1 ? "" : "s");
  return text;
}

std::string fleet_step_text(const Fleet& fleet) {
  const FleetRank& slowest = rank_of(fleet, fleet.slowest);
  if (slowest.group < 0 || !fleet.missing.empty())
    return fmt::format("The job's step takes {}; how much of it ranks wait for others is not known",
                       duration(fleet.step_ns));
  return fmt::format(
      "The job's step takes {}; rank {}{} sets the pace: it takes {} without waiting for others",
      duration(fleet.step_ns), slowest.rank, node_text(slowest),
      duration(slowest.step_ns - slowest.wait_ns));
}

std::string fleet_waits_text(const Fleet& fleet) {
  const bool partly = !fleet.missing.empty();
  if (fleet.groups > 0)
    return fmt::format("{} waits {} of each step for the last one in collectives ({}); {}.",
                       partly                    ? "Among the ranks that are here the middle one"
                       : fleet.ranks.size() == 2 ? "The waiting rank"
                                                 : "The middle rank",
                       duration(fleet.waited_ns), percent(fleet.waited_ns / fleet.step_ns),
                       fleet.clocks);
  return fmt::format(
      "{}{}.",
      fleet.collectives ? "Not known: "
      : partly ? "Among the ranks that are here nobody for anybody, as far as their reports show: "
               : "Nobody for anybody, as far as the reports show: ",
      fleet.clocks);
}

std::string render_fleet_text(const Fleet& fleet, const TextStyle& style,
                              const std::vector<std::string>& errors) {
  const Paint paint(style);
  std::string out = paint.bold(fleet_count_text(fleet)) + '\n' +
                    wrapped(fleet_step_text(fleet) + ".", style.width, 2) + '\n';
  for (const std::string& error : errors)
    out +=
        wrapped(paint.severity(Severity::error, "left out") + ": " + error, style.width, 2) + '\n';
  for (const std::string& note : fleet.notes)
    out += wrapped(paint.severity(Severity::warning, "note") + ": " + note, style.width, 2) + '\n';

  out += '\n' + paint.bold("Where a step goes, over ranks") + '\n';
  std::size_t width = 20;
  for (const std::string& cause : fleet.causes)
    width = std::max(width, display_width(cause_label(cause)));
  out += paint.faint(fmt::format("  {} {:>10} {:>10} {:>10} {:>10} {:>10}", padded("", width),
                                 "least", "quarter", "middle", "3 quarters", "most")) +
         '\n';
  std::size_t small = 0;
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    const Quartiles& q = fleet.account[c];
    if (static_cast<double>(q.most) < fleet.step_ns / 200) {
      ++small;
      continue;
    }
    out += fmt::format("  {} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
                       padded(cause_label(fleet.causes[c]), width), duration(q.least),
                       duration(q.lower), duration(q.middle), duration(q.upper), duration(q.most));
  }
  if (small > 0) out += fmt::format("  {} more, below 0.5 % on each rank\n", small);

  out += '\n' + paint.bold("Who waits for whom") + '\n';
  out += "  " + wrapped(fleet_waits_text(fleet), style.width, 2) + '\n';
  constexpr std::size_t most_shown = 8;
  std::size_t shown = 0, shown_nodes = 0;
  for (const std::int64_t r : fleet.stragglers) {
    if (++shown > most_shown) {
      out += fmt::format("  and {} more\n", fleet.stragglers.size() - most_shown);
      break;
    }
    const FleetRank& rank = rank_of(fleet, r);
    out +=
        "  " +
        wrapped(fmt::format("rank {}{}: {} late a step, last in {} of the collectives", r,
                            node_text(rank), duration(rank.late_ns), percent(rank.last_fraction)),
                style.width, 4) +
        '\n';
  }
  // Nodes say more than ranks where several of their ranks are late.
  for (const FleetNode& n : fleet.nodes)
    if (n.late > 1 && shown_nodes++ < most_shown)
      out += "  " +
             wrapped(fmt::format("node {}: {} of its {} ranks come late", n.node, n.late, n.ranks),
                     style.width, 4) +
             '\n';

  if (!fleet.plan.empty()) {
    std::string line = duration(fleet.step_ns) + " now";
    std::vector<std::string> made;
    for (const FleetFix& fix : fleet.plan) {
      std::size_t number = 0;
      for (const FleetFinding& f : fleet.findings) {
        number += !f.suppressed;
        if (f.finding.fingerprint == fix.fingerprint) break;
      }
      made.push_back(std::to_string(number));
      line += fmt::format(
          "{}no less than {} after {}", style.unicode ? " → " : " -> ", duration(fix.least_step_ns),
          made.size() == 1 ? made.front()
                           : fmt::format("{} and {}", fmt::join(made.begin(), made.end() - 1, ", "),
                                         made.back()));
    }
    out += '\n' + paint.bold("What the fixes are worth together, at most") + '\n' + "  " +
           wrapped(line, style.width, 2) + '\n';
    out += "  " +
           wrapped(
               "The job's step is its slowest rank's: a fix helps only as far as the next slowest "
               "one. How ranks wait for each other once something is fixed, no replay tells.",
               style.width, 2) +
           '\n';
  }

  std::size_t number = 0;
  for (const FleetFinding& of : fleet.findings) {
    if (of.suppressed) continue;
    const Finding& f = of.finding;
    constexpr std::size_t indent = 13;
    const auto field = [&](const char* name, const std::string& text) {
      return fmt::format("   {}{}\n", paint.faint(padded(name, indent - 3)), text);
    };
    const std::string tag = fmt::format("{}. {}", ++number, name_of(f.severity));
    const std::string worth = f.recoverable_ns > 0
                                  ? fmt::format(", worth at most {} of the job's {} step ({})",
                                                duration(f.recoverable_ns), duration(fleet.step_ns),
                                                percent(f.recoverable_fraction))
                                  : "";
    out +=
        '\n' + paint.severity(f.severity, tag) +
        wrapped(fmt::format("{}: {}{}", tag, f.title, worth), style.width, 3).substr(tag.size()) +
        '\n';
    out += field("why", wrapped(f.message + (f.confidence == "high"
                                                 ? ""
                                                 : fmt::format(" ({} confidence)", f.confidence)),
                                style.width, indent));
    if (of.rank_ns.most > 0 && of.ranks.size() > 1 && f.subject != "ranks in turn")
      out += field(
          "ranks",
          wrapped(fmt::format("{} to {} a step each, {} in the middle", duration(of.rank_ns.least),
                              duration(of.rank_ns.most), duration(of.rank_ns.middle)),
                  style.width, indent));
    if (!f.follows_from.empty())
      out += field("follows", wrapped(fmt::format("from {}: that fix probably cures this as well",
                                                  f.follows_from),
                                      style.width, indent));
    for (std::size_t i = 0; i < std::min<std::size_t>(f.evidence.size(), 2); ++i) {
      const Evidence& e = f.evidence[i];
      out += field(
          i == 0 ? "evidence" : "",
          wrapped(fmt::format("at {:.4f} s for {}: {}{}", static_cast<double>(e.span.start) / 1e9,
                              duration(e.span.length()), shortened(e.name, 60),
                              e.note.empty() ? "" : " (" + e.note + ")"),
                  style.width, indent));
    }
    for (std::size_t i = 0; i < f.advice.size(); ++i)
      out += field(i == 0 ? "fix" : "",
                   (f.advice.size() > 1 ? "- " : "") +
                       wrapped(f.advice[i], style.width, indent + (f.advice.size() > 1 ? 2 : 0)));
    out += field("more", "gh-advise explain " + f.rule);
  }
  if (number == 0)
    out += '\n' + paint.good("Nothing was found by the rules that could look.") + '\n';

  if (!fleet.unlike.empty()) out += '\n' + paint.bold("Ranks that are not like the others") + '\n';
  for (const Unlike& u : fleet.unlike)
    out += "  " +
           wrapped(fmt::format("{} {}: {}", u.ranks.size() == 1 ? "rank" : "ranks",
                               ranks_text(u.ranks), u.what),
                   style.width, 4) +
           '\n';

  std::vector<std::string> clean;
  std::map<std::string, std::vector<std::string>> lacking;
  for (const auto& [id, outcome] : fleet.rules) {
    const bool found = std::any_of(fleet.findings.begin(), fleet.findings.end(),
                                   [&](const FleetFinding& f) { return f.finding.rule == id; });
    if (outcome.state == RuleOutcome::State::looked && outcome.reason.empty() && !found)
      clean.push_back(id);
    else if (!outcome.reason.empty())
      lacking[outcome.reason].push_back(id);
  }
  out += '\n';
  if (!clean.empty())
    out += wrapped(fmt::format("Checked and clean on all ranks: {}.", fmt::join(clean, ", ")),
                   style.width, 2) +
           '\n';
  for (const auto& [reason, ids] : lacking)
    out += wrapped(fmt::format("Not checked: {}: {}.", fmt::join(ids, ", "),
                               reason.substr(0, reason.find_last_not_of('.') + 1)),
                   style.width, 2) +
           '\n';
  for (const auto& [s, state] : fleet.suppressions)
    if (state == SuppressionState::used)
      out +=
          wrapped(fmt::format("Suppressed: {}", suppression_text(s, state)), style.width, 2) + '\n';
  return out;
}

std::string render_fleet_json(const Fleet& fleet, const std::vector<std::string>& errors) {
  Json ranks = Json::array(), rows = Json::array(), account = Json::array(), nodes = Json::array(),
       findings = Json::array(), suppressed = Json::array(), unlike = Json::array(),
       plan = Json::array(), rules = Json::object();
  for (const FleetRank& r : fleet.ranks) {
    ranks.push_back({{"rank", r.rank},
                     {"node", or_null(r.node)},
                     {"report", r.report},
                     {"devices", r.devices},
                     {"steps", r.steps},
                     {"step_ns", whole(r.step_ns)},
                     {"wait_ns", r.group < 0 ? Json(nullptr) : Json(whole(r.wait_ns))},
                     {"late_ns", r.group < 0 ? Json(nullptr) : Json(whole(r.late_ns))},
                     {"last_fraction", r.group < 0 ? Json(nullptr) : Json(r.last_fraction)},
                     {"group", r.group < 0 ? Json(nullptr) : Json(r.group)}});
    Json row = Json::array();
    for (const double ns : r.cause_ns) row.push_back(whole(ns));
    rows.push_back(std::move(row));
  }
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    account.push_back({{"cause", fleet.causes[c]}, {"quartiles_ns", json_of(fleet.account[c])}});
  for (const FleetNode& n : fleet.nodes)
    nodes.push_back(
        {{"node", n.node}, {"ranks", n.ranks}, {"late", n.late}, {"late_ns", whole(n.late_ns)}});
  for (const FleetFinding& f : fleet.findings)
    (f.suppressed ? suppressed : findings)
        .push_back({{"finding", finding_json(f.finding)},
                    {"ranks", f.ranks},
                    {"looked", f.looked},
                    {"worst_rank", f.worst},
                    {"rank_quartiles_ns", json_of(f.rank_ns)}});
  for (const Unlike& u : fleet.unlike) unlike.push_back({{"what", u.what}, {"ranks", u.ranks}});
  for (const FleetFix& f : fleet.plan)
    plan.push_back({{"rule", f.rule},
                    {"fingerprint", f.fingerprint},
                    {"least_step_ns", whole(f.least_step_ns)}});
  constexpr const char* states[] = {"looked", "not_checked", "not_recorded", "failed"};
  for (const auto& [id, outcome] : fleet.rules)
    rules[id] = {{"state", states[static_cast<int>(outcome.state)]},
                 {"reason", or_null(outcome.reason)}};
  Json suppressions = Json::array();
  for (const auto& [s, state] : fleet.suppressions)
    suppressions.push_back({{"rule", s.rule},
                            {"subject", s.subject},
                            {"reason", s.reason},
                            {"until", or_null(s.until)},
                            {"where", s.where},
                            {"state", name_of(state)}});
  return Json{{"schema_version", 1},
              {"generator", std::string("gh-advise ") + GH_ADVISE_VERSION},
              {"world_size", fleet.world_size},
              {"missing", fleet.missing},
              {"numbered", fleet.numbered},
              {"unreadable", errors},
              {"notes", fleet.notes},
              {"step_ns", whole(fleet.step_ns)},
              {"slowest_rank", fleet.slowest},
              {"waited_ns", fleet.groups > 0 ? Json(whole(fleet.waited_ns)) : Json(nullptr)},
              {"clocks", fleet.clocks},
              {"groups", fleet.groups},
              {"stragglers", fleet.stragglers},
              {"nodes", nodes},
              {"account", account},
              {"plan", plan},
              {"findings", findings},
              {"suppressed", suppressed},
              {"suppressions", suppressions},
              {"unlike", unlike},
              {"rules", rules},
              {"ranks", ranks},
              {"heat_map", {{"causes", fleet.causes}, {"ns_per_step", rows}}}}
             .dump(1) +
         '\n';
}

CiResult fleet_ci_result(const Fleet& fleet, const std::vector<Rule>& rules,
                         const std::string& name, std::optional<Severity> fail_on) {
  CiResult result;
  result.rules = rules;
  result.outcomes = fleet.rules;
  for (const Rule& r : rules) result.outcomes[r.id];
  for (const FleetFinding& f : fleet.findings)
    if (!f.suppressed)
      result.findings.push_back(
          {f.finding, name, std::nullopt, fail_on && f.finding.severity >= *fail_on});
  CiReport of{name, fmt::format("{}. {}.", fleet_count_text(fleet), fleet_step_text(fleet)), {}};
  for (const std::string& note : fleet.notes) of.steps += " Note: " + note + '.';
  for (const Unlike& u : fleet.unlike)
    of.steps += fmt::format(" Not like the others: {} {} ({}).",
                            u.ranks.size() == 1 ? "rank" : "ranks", ranks_text(u.ranks), u.what);
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    if (const double share = fleet.step_ns > 0
                                 ? std::accumulate(fleet.ranks.begin(), fleet.ranks.end(), 0.0,
                                                   [&](double sum, const FleetRank& r) {
                                                     return sum + r.cause_ns[c];
                                                   }) /
                                       static_cast<double>(fleet.ranks.size()) / fleet.step_ns
                                 : 0;
        share >= 0.005)
      of.account.emplace_back(fleet.causes[c], share);
  result.reports.push_back(std::move(of));
  return result;
}

}  // namespace gh
