// Facts as JSON (schemas/facts.schema.json).
#include "report/json_parts.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

Json fact_json(const FactValue& value) {
  if (const auto* n = std::get_if<double>(&value)) return number_json(*n);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return nullptr;
}

}  // namespace

std::string render_facts_json(const Analysis& a, const Facts& facts,
                              const std::vector<std::string>& only) {
  Json list = Json::array();
  for (const Fact* f : facts.chosen(only)) {
    const FactValue& value = facts.value(f->name);
    Json entry = {{"name", f->name},
                  {"value", fact_json(value)},
                  {"unit", name_of(f->unit)},
                  {"doc", f->doc}};
    if (const auto* u = std::get_if<Unknown>(&value)) entry["unknown"] = u->reason;
    list.push_back(entry);
  }
  return Json{{"report", report_head(a)}, {"facts", list}}.dump(2) + '\n';
}

}  // namespace gh
