// What the GPUs ran: kernels by class and by name, copies over the link to the host.
#include <fmt/format.h>

#include <algorithm>

#include "analysis/tables/groups.hpp"
#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t costliest_open = 30;            // rows of a table that are not folded
constexpr std::string_view of_kernels = "compute: ";  // cause_label of their classes

Cell fraction_cell(const std::optional<double>& fraction) {
  return fraction ? Cell::share(*fraction) : Cell("");
}

// By direction and kind of host memory.
using CopySums = Groups<std::pair<CopyKind, std::string>>;

CopySums copy_sums(const Analysis& a) {
  const Ops& ops = a.trace.ops;
  CopySums sums;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    for (const Row op : a.ops_in_steps(d)) {
      if (ops.kind[op] != OpKind::copy) continue;
      const CopyKind kind = ops.copy[op];
      const bool unified = is_unified(kind);
      if (kind != CopyKind::h2d && kind != CopyKind::d2h && !unified) continue;
      const MemoryKind host = kind == CopyKind::h2d ? ops.source[op] : ops.target[op];
      CopySums::Sum& s = sums.of({kind, unified ? "unified" : name_of(host)});
      s.each.add(ops.end[op] - ops.start[op]);
      s.bytes += ops.bytes[op];
    }
  return sums;
}

// What the fastest link to the host reaches in practice; 0 where that is not known.
double link_bytes_per_s(const Analysis& a) {
  double rate = 0;
  for (const DeviceSteps& d : a.devices)
    rate = std::max(rate, a.classes.peaks(a.trace.devices[d.device]).host_link_bytes_per_s);
  return rate;
}

}  // namespace

std::string table_by_name(const ReportPage& page, const TablesReport& top, const std::string& name,
                          const std::string& caption, const std::string& kind) {
  const Table* table = top.table(name);
  if (!table) return "";
  const bool of_devices = table->rows.front().device_fraction.has_value();
  std::vector<HtmlTable::Column> columns{{capitalized(kind)}};
  const bool has_class = !table->rows.front().of_class.empty();
  if (has_class) columns.push_back({"Class"});
  columns.insert(columns.end(), {{"Time", true}, {"How many", true}, {"Each", true}});
  if (of_devices) columns.push_back({"Of the devices' time", true});
  if (top.path_ns > 0) columns.push_back({"Of the path", true});
  HtmlTable html(caption + page.mean_of(), columns);
  html.searched_as(kind);
  const double steps = page.steps();
  for (const TableRow& r : table->rows) {
    const auto ns = static_cast<double>(r.each.total_ns), count = static_cast<double>(r.each.count);
    std::vector<Cell> cells{page.cut(r.label, 300)};
    if (has_class) cells.emplace_back(r.of_class);
    cells.insert(cells.end(),
                 {Cell(duration(ns / steps), ns), Cell(fmt::format("{:.1f}", count / steps), count),
                  Cell::time(r.each.mean_ns())});
    if (of_devices) cells.push_back(fraction_cell(r.device_fraction));
    if (top.path_ns > 0) cells.push_back(fraction_cell(r.path_fraction));
    html.row(cells);
  }
  const std::string count =
      table->rows_in_all > table->rows.size()
          ? fmt::format("the costliest {} of {}", table->rows.size(), table->rows_in_all)
          : std::to_string(table->rows.size());
  return folded(fmt::format("{} by name ({})", capitalized(plural(kind)), count),
                html.html(costliest_open));
}

TablesReport costliest(const ReportPage& page, std::vector<std::string> tables, By by) {
  TableOptions options;
  options.by = by;
  options.tables = std::move(tables);
  if (by == By::name) options.most = page.allowed.rows;
  return tables_of(page.analysis, page.report.replay.get(), options);
}

std::string kernels_section(const ReportPage& page) {
  const TablesReport by_class = costliest(page, {"work"}, By::kind);
  std::vector<const TableRow*> kernels;
  Ns all_ns = 0;
  for (const TableRow& row : by_class.rows())
    if (row.label.starts_with(of_kernels) && row.name != "graph") {
      kernels.push_back(&row);
      all_ns += row.each.total_ns;
    }
  if (kernels.empty()) return "";
  HtmlTable table(
      fmt::format("Classes of kernels{}; kernels side by side count twice here", page.mean_of()),
      {{"Class"},
       {"Time", true},
       {"Share", true},
       {"Kernels", true},
       {"Each", true},
       {"Share, drawn"}});
  for (const TableRow* row : kernels) {
    const auto ns = static_cast<double>(row->each.total_ns),
               count = static_cast<double>(row->each.count);
    const double share = ns / static_cast<double>(all_ns);
    table.row({class_label(row->name), Cell(duration(ns / page.steps()), ns), Cell::share(share),
               Cell(fmt::format("{:.1f}", count / page.steps()), count),
               Cell::time(row->each.mean_ns()),
               Cell::raw(plain_bar(share, name_of(activity_of_kernels(row->name))))});
  }
  const std::string hottest = hottest_kernel_text(page.analysis, page.report.step);
  return (hottest.empty() ? "" : remark(page.cut(hottest, 400))) + table.html() +
         table_by_name(page, costliest(page, {"kernels"}), "kernels", "Kernels", "kernel");
}

std::string calls_section(const ReportPage& page) {
  return table_by_name(page, costliest(page, {"calls"}), "calls", "CUDA calls", "call");
}

std::string copies_section(const ReportPage& page) {
  const CopySums sums = copy_sums(page.analysis);
  const double link = link_bytes_per_s(page.analysis), steps = page.steps();
  double fastest = link;
  const auto rate_of = [](const CopySums::Sum* s) {
    return 1e9 * static_cast<double>(s->bytes) /
           std::max(static_cast<double>(s->each.total_ns), 1.0);
  };
  for (const CopySums::Sum* s : sums.by_key()) fastest = std::max(fastest, rate_of(s));
  HtmlTable table(
      link > 0
          ? fmt::format("Copies between host and device{}; the line is what the link to the "
                        "host reaches in practice, {}",
                        page.mean_of(), shown(link, Unit::bytes_per_s))
          : fmt::format("Copies between host and device{}; what this GPU's link reaches is unknown",
                        page.mean_of()),
      {{"Direction"},
       {"Host memory"},
       {"Copies", true},
       {"Bytes", true},
       {"Mean size", true},
       {"Time", true},
       {"Bandwidth", true},
       {"Against the link"}});
  for (const CopySums::Sum* s : sums.by_key()) {
    const double rate = rate_of(s);
    const auto bytes = static_cast<double>(s->bytes), ns = static_cast<double>(s->each.total_ns),
               count = static_cast<double>(s->each.count);
    const std::string drawn = plain_bar(rate / std::max(fastest, 1.0), "copy", std::nullopt,
                                        link > 0 ? std::optional(link / fastest) : std::nullopt);
    table.row({name_of(s->key.first), s->key.second,
               Cell(fmt::format("{:.1f}", count / steps), count),
               Cell(bytes_text(bytes / steps), bytes),
               Cell(bytes_text(bytes / count), bytes / count), Cell(duration(ns / steps), ns),
               Cell(shown(rate, Unit::bytes_per_s), rate), Cell::raw(drawn)});
  }
  return table.html();
}

}  // namespace gh
