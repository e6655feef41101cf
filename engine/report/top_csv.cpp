// What takes the time, as comma-separated values.
#include <fmt/format.h>

#include "report/tables.hpp"

namespace gh {
namespace {

std::string csv_share(const std::optional<double>& fraction) {
  return fraction ? fmt::format("{:.6f}", *fraction) : "";
}

}  // namespace

std::string render_top_csv(const std::vector<TablesReport>& tops) {
  std::string out =
      "report,table,name,class,count,total_ns,mean_ns,least_ns,most_ns,bytes,device_fraction,"
      "path_fraction,sm_active_fraction\n";
  for (const TablesReport& top : tops)
    for (const Table& table : top.tables)
      for (const TableRow& r : table.rows)
        out += fmt::format("{},{},{},{},{},{},{:.1f},{},{},{},{},{},{}\n",
                           csv_text(top.report.at("path").get<std::string>()), table.name,
                           csv_text(r.name), r.of_class, r.each.count, r.each.total_ns,
                           r.each.mean_ns(), r.each.least_ns, r.each.most_ns, r.bytes,
                           csv_share(r.device_fraction), csv_share(r.path_fraction),
                           csv_share(r.sms.mean()));
  return out;
}

}  // namespace gh
