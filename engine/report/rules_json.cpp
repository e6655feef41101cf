// The rules and their documentation as JSON.
#include "base/json.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

Json rule_json(const Rule& r) {
  Json options = Json::array(), needs = Json::array();
  for (const auto& [name, o] : r.options)
    options.push_back({{"name", name},
                       {"default", std::visit([](const auto& v) { return Json(v); }, o.value)},
                       {"unit", o.unit},
                       {"doc", o.doc}});
  for (const Source s : r.needs) needs.push_back(name_of(s));
  return {{"id", r.id},
          {"category", r.category},
          {"title", r.title},
          {"since", r.since},
          {"needs", needs},
          {"options", options},
          {"doc", {{"what", r.what}, {"why", r.why}, {"fix", r.fix}, {"wrong", r.wrong}}}};
}

}  // namespace

std::string render_rules_json(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& r : rules) list.push_back(rule_json(r));
  return Json{{"rules", list}}.dump(2) + '\n';
}

}  // namespace gh
