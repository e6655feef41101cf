// The rules and their documentation as JSON.
#include "base/json.hpp"
#include "report/report.hpp"
#include "rules/seen.hpp"

namespace gh {
namespace {

// On which recordings it was seen to fire, and how far off its forecasts were.
Json seen_json(const Rule& r) {
  const Seen seen = seen_of(r);
  const bool measured = seen.pairs > 0;
  return {{"recordings", seen.recordings},
          {"measured_fixes", seen.pairs},
          {"median_error", measured ? Json(seen.median_error) : Json(nullptr)},
          {"worst_error", measured ? Json(seen.worst_error) : Json(nullptr)}};
}

Json rule_json(const Rule& r) {
  const auto option = [](const auto& one) -> Json {
    const auto& [name, o] = one;
    return {{"name", name},
            {"default", std::visit([](const auto& v) { return Json(v); }, o.value)},
            {"unit", o.unit},
            {"doc", o.doc}};
  };
  const auto need = [](Source s) { return name_of(s); };
  return {{"id", r.id},
          {"category", r.category},
          {"title", r.title},
          {"since", r.since},
          {"needs", json_list(r.needs, need)},
          {"options", json_list(r.options, option)},
          {"seen", seen_json(r)},
          {"doc", {{"what", r.what}, {"why", r.why}, {"fix", r.fix}, {"wrong", r.wrong}}}};
}

}  // namespace

std::string render_rules_json(const std::vector<Rule>& rules) {
  return Json{{"rules", json_list(rules, rule_json)}}.dump(2) + '\n';
}

}  // namespace gh
