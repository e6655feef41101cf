// A job's ranks as JSON (schemas/fleet.schema.json).
#include "report/fleet_phrases.hpp"
#include "report/json_parts.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

Json quartiles_json(const Quartiles& q) { return {q.least, q.lower, q.middle, q.upper, q.most}; }
std::int64_t whole(double v) { return static_cast<std::int64_t>(v); }

// What collectives say about a rank is null if its collectives match nobody's.
Json rank_json(const FleetRank& r) {
  const bool matched = r.group >= 0;
  return {{"rank", r.rank},
          {"node", or_null(r.node)},
          {"report", r.report},
          {"devices", r.devices},
          {"steps", r.steps},
          {"step_ns", whole(r.step_ns)},
          {"wait_ns", matched ? Json(whole(r.wait_ns)) : Json(nullptr)},
          {"late_ns", matched ? Json(whole(r.late_ns)) : Json(nullptr)},
          {"last_fraction", matched ? Json(r.last_fraction) : Json(nullptr)},
          {"group", matched ? Json(r.group) : Json(nullptr)}};
}

Json finding_of_ranks_json(const Fleet& fleet, const FleetFinding& f) {
  return {{"finding", finding_json(f.finding, fleet_saves_text(fleet, f.finding))},
          {"ranks", f.ranks},
          {"looked", f.looked},
          {"worst_rank", f.worst},
          {"rank_quartiles_ns", quartiles_json(f.rank_ns)}};
}

const char* state_name(RuleOutcome::State state) {
  switch (state) {
    case RuleOutcome::State::looked: return "looked";
    case RuleOutcome::State::not_checked: return "not_checked";
    case RuleOutcome::State::not_recorded: return "not_recorded";
    default: return "failed";
  }
}

// A row a rank, a column a cause.
Json heat_map_json(const Fleet& fleet) {
  Json rows = Json::array();
  for (const FleetRank& r : fleet.ranks) {
    Json row = Json::array();
    for (const double ns : r.cause_ns) row.push_back(whole(ns));
    rows.push_back(std::move(row));
  }
  return {{"causes", fleet.causes}, {"ns_per_step", rows}};
}

}  // namespace

std::string render_fleet_json(const Fleet& fleet, const std::vector<std::string>& errors) {
  Json ranks = Json::array(), account = Json::array(), nodes = Json::array(),
       findings = Json::array(), suppressed = Json::array(), unlike = Json::array(),
       plan = Json::array(), rules = Json::object();
  for (const FleetRank& r : fleet.ranks) ranks.push_back(rank_json(r));
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    account.push_back({{"cause", fleet.causes[c]},
                       {"label", cause_label(fleet.causes[c])},
                       {"quartiles_ns", quartiles_json(fleet.account[c])}});
  for (const FleetNode& n : fleet.nodes)
    nodes.push_back(
        {{"node", n.node}, {"ranks", n.ranks}, {"late", n.late}, {"late_ns", whole(n.late_ns)}});
  for (const FleetFinding& f : fleet.findings)
    (f.suppressed ? suppressed : findings).push_back(finding_of_ranks_json(fleet, f));
  for (const Unlike& u : fleet.unlike) unlike.push_back({{"what", u.what}, {"ranks", u.ranks}});
  for (const FleetFix& f : fleet.plan)
    plan.push_back({{"rule", f.rule},
                    {"fingerprint", f.fingerprint},
                    {"least_step_ns", whole(f.least_step_ns)}});
  for (const auto& [id, outcome] : fleet.rules)
    rules[id] = {{"state", state_name(outcome.state)}, {"reason", or_null(outcome.reason)}};
  // Little indented, since a fleet has thousands of ranks.
  return Json{{"schema_version", 1},
              {"generator", generator()},
              {"world_size", fleet.world_size},
              {"missing", fleet.missing},
              {"numbered", fleet.numbered},
              {"unreadable", errors},
              {"notes", fleet.notes},
              {"unit", fleet.unit.name},
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
              {"suppressions", suppressions_json(fleet.suppressions)},
              {"unlike", unlike},
              {"rules", rules},
              {"ranks", ranks},
              {"heat_map", heat_map_json(fleet)}}
             .dump(1) +
         '\n';
}

}  // namespace gh
