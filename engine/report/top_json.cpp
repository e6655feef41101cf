// What takes the time, as JSON (schemas/top.schema.json).
#include "report/json_parts.hpp"
#include "report/tables.hpp"

namespace gh {
namespace {

Json top_row_json(const TableRow& r) {
  return {{"name", or_null(r.name)},
          {"class", or_null(r.of_class)},
          {"count", r.each.count},
          {"total_ns", r.each.total_ns},
          {"mean_ns", r.each.mean_ns()},
          {"least_ns", r.each.least_ns},
          {"most_ns", r.each.most_ns},
          {"bytes", r.bytes},
          {"device_fraction", or_null(r.device_fraction)},
          {"path_fraction", or_null(r.path_fraction)},
          {"sm_active_fraction", or_null(r.sms.mean())}};
}

Json top_json(const TablesReport& top) {
  const auto table_json = [](const Table& table) {
    return Json{{"table", table.name},
                {"total_ns", table.total_ns},
                {"rows_in_all", table.rows_in_all},
                {"rows", json_list(table.rows, top_row_json)}};
  };
  return {{"report", top.report},
          {"unit", top.unit},
          {"steps", top.steps},
          {"found", top.has_steps},
          {"window_ns", top.total_ns},
          {"path_ns", top.path_ns > 0 ? Json(top.path_ns) : Json(nullptr)},
          {"why_no_path", or_null(top.why_no_path)},
          {"by", name_of(top.options.by)},
          {"sort", name_of(top.options.sort)},
          {"tables", json_list(top.tables, table_json)}};
}

}  // namespace

std::string render_top_json(const std::vector<TablesReport>& tops,
                            const std::vector<std::string>& errors) {
  return tables_json(reports_schema_version, tops, errors, top_json);
}

}  // namespace gh
