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

Json findings_json(const Fleet& fleet, bool suppressed) {
  Json list = Json::array();
  for (const FleetFinding& f : fleet.findings)
    if (f.suppressed == suppressed) list.push_back(finding_of_ranks_json(fleet, f));
  return list;
}

Json node_json(const FleetNode& n) {
  return {{"node", n.node}, {"ranks", n.ranks}, {"late", n.late}, {"late_ns", whole(n.late_ns)}};
}

Json fix_json(const FleetFix& f) {
  return {
      {"rule", f.rule}, {"fingerprint", f.fingerprint}, {"least_step_ns", whole(f.least_step_ns)}};
}

Json unlike_json(const Unlike& u) { return {{"what", u.what}, {"ranks", u.ranks}}; }

// A row a rank, a column a cause.
Json heat_map_json(const Fleet& fleet) {
  const auto row = [](const FleetRank& r) { return json_list(r.cause_ns, whole); };
  return {{"causes", fleet.causes}, {"ns_per_step", json_list(fleet.ranks, row)}};
}

}  // namespace

std::string render_fleet_json(const Fleet& fleet, const std::vector<std::string>& errors) {
  Json account = Json::array(), rules = Json::object();
  for (std::size_t c = 0; c < fleet.causes.size(); ++c)
    account.push_back({{"cause", fleet.causes[c]},
                       {"label", cause_label(fleet.causes[c])},
                       {"quartiles_ns", quartiles_json(fleet.account[c])}});
  for (const auto& [id, outcome] : fleet.rules)
    rules[id] = {{"state", name_of(outcome.state)}, {"reason", or_null(outcome.reason)}};
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
              {"nodes", json_list(fleet.nodes, node_json)},
              {"account", account},
              {"plan", json_list(fleet.plan, fix_json)},
              {"findings", findings_json(fleet, false)},
              {"suppressed", findings_json(fleet, true)},
              {"suppressions", suppressions_json(fleet.suppressions)},
              {"unlike", json_list(fleet.unlike, unlike_json)},
              {"rules", rules},
              {"ranks", json_list(fleet.ranks, rank_json)},
              {"heat_map", heat_map_json(fleet)}}
             .dump(1) +
         '\n';
}

}  // namespace gh
