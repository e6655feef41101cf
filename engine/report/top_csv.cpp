// What takes the time, as comma-separated values.
#include <fmt/format.h>

#include "report/top.hpp"

namespace gh {
namespace {

std::string csv_share(const std::optional<double>& fraction) {
  return fraction ? fmt::format("{:.6f}", *fraction) : "";
}

}  // namespace

std::string render_top_csv(const std::vector<Top>& tops) {
  std::string out =
      "report,table,name,class,count,total_ns,mean_ns,least_ns,most_ns,bytes,device_fraction,"
      "path_fraction,sm_active_fraction\n";
  for (const Top& top : tops)
    for (const TopTable& table : top.tables)
      for (const TopRow& r : table.rows)
        out += fmt::format("{},{},{},{},{},{},{:.1f},{},{},{},{},{},{}\n",
                           csv_text(top.report.at("path").get<std::string>()), table.name,
                           csv_text(r.name), r.of_class, r.count, r.total_ns, r.mean_ns(),
                           r.least_ns, r.most_ns, r.bytes, csv_share(r.device_fraction),
                           csv_share(r.path_fraction), csv_share(r.sms.mean()));
  return out;
}

}  // namespace gh
