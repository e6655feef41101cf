// Facts as JSON (schemas/facts.schema.json).
#include <cmath>

#include "report/json_parts.hpp"
#include "report/report.hpp"

namespace gh {
namespace {

// A number without a fraction is written as an integer, as far as a double holds those exactly.
Json fact_json(const FactValue& value) {
  if (const auto* n = std::get_if<double>(&value)) {
    const bool whole = *n == std::floor(*n) && std::abs(*n) < 9e15;
    return whole ? Json(static_cast<std::int64_t>(*n)) : Json(*n);
  }
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
