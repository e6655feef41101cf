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
  Json options = Json::array(), factors = Json::array(), needs = Json::array();
  for (const auto& [name, o] : r.options) {
    const Json value = std::visit([](const auto& v) { return Json(v); }, o.value);
    options.push_back({{"name", name}, {"default", value}, {"unit", o.unit}, {"doc", o.doc}});
    if (o.range)
      factors.push_back({{"name", name},
                         {"by", value},
                         {"least", o.range->least},
                         {"most", o.range->most},
                         {"source", o.range->source}});
  }
  for (const Source s : r.needs) needs.push_back(name_of(s));
  return {{"id", r.id},
          {"category", r.category},
          {"title", r.title},
          {"since", r.since},
          {"needs", needs},
          {"options", options},
          {"factors", factors},
          {"seen", seen_json(r)},
          {"doc",
           {{"what", plain_sentence(r.what)},
            {"why", plain_sentence(r.why)},
            {"fix", plain_sentence(r.fix)},
            {"wrong", plain_sentence(r.wrong)}}}};
}

}  // namespace

std::string render_rules_json(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& r : rules) list.push_back(rule_json(r));
  return Json{{"rules", list}}.dump(2) + '\n';
}

}  // namespace gh
