// What takes the time, as JSON (schemas/top.schema.json).
#include "report/json_parts.hpp"
#include "report/top.hpp"

namespace gh {
namespace {

Json row_json(const TopRow& r) {
  return {{"name", or_null(r.name)},
          {"class", or_null(r.of_class)},
          {"count", r.count},
          {"total_ns", r.total_ns},
          {"mean_ns", r.mean_ns()},
          {"least_ns", r.least_ns},
          {"most_ns", r.most_ns},
          {"bytes", r.bytes},
          {"device_fraction", or_null(r.device_fraction)},
          {"path_fraction", or_null(r.path_fraction)},
          {"sm_active_fraction", or_null(r.sms.mean())}};
}

Json top_json(const Top& top) {
  Json tables = Json::array();
  for (const TopTable& table : top.tables) {
    Json rows = Json::array();
    for (const TopRow& r : table.rows) rows.push_back(row_json(r));
    tables.push_back({{"table", table.name},
                      {"total_ns", table.total_ns},
                      {"rows_in_all", table.rows_in_all},
                      {"rows", rows}});
  }
  return {{"report", top.report},
          {"unit", top.unit},
          {"steps", top.steps},
          {"found", top.has_steps},
          {"window_ns", top.window_ns},
          {"path_ns", top.path_ns > 0 ? Json(top.path_ns) : Json(nullptr)},
          {"why_no_path", or_null(top.why_no_path)},
          {"by", top_by_names()[static_cast<std::size_t>(top.options.by)]},
          {"sort", top_sort_names()[static_cast<std::size_t>(top.options.sort)]},
          {"tables", tables}};
}

}  // namespace

std::string render_top_json(const std::vector<Top>& tops, const std::vector<std::string>& errors) {
  Json reports = Json::array();
  for (const Top& top : tops) reports.push_back(top_json(top));
  return Json{{"schema_version", reports_schema_version},
              {"generator", generator()},
              {"errors", errors},
              {"reports", reports}}
             .dump(2) +
         '\n';
}

}  // namespace gh
