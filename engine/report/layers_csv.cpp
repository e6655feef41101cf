// What each layer costs, as comma-separated values.
#include <fmt/format.h>

#include "report/tables.hpp"

namespace gh {

std::string render_layers_csv(const std::vector<TablesReport>& reports) {
  std::string out =
      "report,path,depth,layers,total_ns,own_ns,forward_ns,backward_ns,busy_ns,idle_ns,path_ns,"
      "launches,flops,flops_are_least,bytes,attained_fraction,known_ns,peak_bytes,bound_by,"
      "operators,"
      "file\n";
  for (const TablesReport& layers : reports)
    for (const TableRow& r : layers.rows()) {
      out += fmt::format(
          "{},{},{},{},{},{},{},{},{},{},{},{},{:.0f},{},{:.0f},{},{:.0f},{},{},{},{}\n",
          csv_text(layers.report.at("path").get<std::string>()), csv_text(r.path), r.depth,
          std::max<std::size_t>(r.members.size(), 1), r.total_ns(), r.own_ns, r.forward_ns,
          r.backward_ns, r.sum.busy_ns, r.sum.idle_ns,
          layers.path_ns > 0 ? std::to_string(r.path_ns) : "", r.sum.launches, r.sum.flops,
          r.sum.more_flops(), r.sum.bytes,
          r.sum.attained() >= 0 ? fmt::format("{:.6f}", r.sum.attained()) : "", r.sum.known_ns,
          r.peak_bytes, r.bound_by, csv_text(r.operators), csv_text(r.file));
    }
  return out;
}

}  // namespace gh
