// What the GPUs ran: kernels by class and by name, copies over the link to the host.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"
#include "report/top.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t most_costliest = 30;  // of a table

struct KernelSum {
  double count = 0, ns = 0;
  void add(double more_ns) {
    ++count;
    ns += more_ns;
  }
};
struct KernelSums {
  std::map<std::string, KernelSum> classes;
  double ns = 0;  // of all: kernels side by side count twice
};

KernelSums kernel_sums(const Analysis& a) {
  const Ops& ops = a.trace.ops;
  KernelSums sums;
  for (std::size_t d = 0; d < a.devices.size(); ++d)
    for (const Row op : a.ops_in_steps(d)) {
      if (ops.kind[op] != OpKind::kernel) continue;
      const auto ns = static_cast<double>(ops.end[op] - ops.start[op]);
      const std::string& kernel_class = a.kernel_class(op);
      sums.classes[kernel_class].add(ns);
      sums.ns += ns;
    }
  return sums;
}

std::string kernel_classes(const ReportPage& page, const KernelSums& sums) {
  std::vector<std::pair<std::string, KernelSum>> costliest(sums.classes.begin(),
                                                           sums.classes.end());
  std::stable_sort(costliest.begin(), costliest.end(),
                   [](const auto& x, const auto& y) { return x.second.ns > y.second.ns; });
  HtmlTable table(
      fmt::format("Classes of kernels{}; kernels side by side count twice here", page.mean_of()),
      {{"Class"},
       {"Time", true},
       {"Share", true},
       {"Kernels", true},
       {"Each", true},
       {"Share, drawn"}});
  const double steps = page.steps();
  for (const auto& [kernel_class, s] : costliest)
    table.row({cause_label("compute." + kernel_class).substr(9), Cell(duration(s.ns / steps), s.ns),
               Cell::share(s.ns / sums.ns), Cell(fmt::format("{:.1f}", s.count / steps), s.count),
               Cell::time(s.ns / s.count),
               Cell::raw(plain_bar(s.ns / sums.ns, name_of(activity_of_kernels(kernel_class))))});
  return table.html();
}

Cell share_cell(const std::optional<double>& fraction) {
  return fraction ? Cell::share(*fraction) : Cell("");
}

// A table of `gh-advise top`, of a mean step; "" where it has no rows.
std::string top_table(const ReportPage& page, const Top& top, const std::string& name,
                      const std::string& caption, const std::string& column) {
  const auto table = std::find_if(top.tables.begin(), top.tables.end(),
                                  [&](const TopTable& t) { return t.name == name; });
  if (table == top.tables.end()) return "";
  const bool of_devices = table->rows.front().device_fraction.has_value();
  std::vector<HtmlTable::Column> columns{{column}};
  const bool has_class = !table->rows.front().of_class.empty();
  if (has_class) columns.push_back({"Class"});
  columns.insert(columns.end(), {{"Time", true}, {"How many", true}, {"Each", true}});
  if (of_devices) columns.push_back({"Of the devices' time", true});
  if (top.path_ns > 0) columns.push_back({"Of the path", true});
  HtmlTable html(fmt::format("{}{}{}", caption, page.mean_of(),
                             table->rows_in_all > table->rows.size()
                                 ? fmt::format("; the costliest {} of {}", table->rows.size(),
                                               table->rows_in_all)
                                 : ""),
                 columns);
  const double steps = page.steps();
  for (const TopRow& r : table->rows) {
    const auto ns = static_cast<double>(r.total_ns), count = static_cast<double>(r.count);
    std::vector<Cell> cells{page.cut(r.label, 300)};
    if (has_class) cells.emplace_back(r.of_class);
    cells.insert(cells.end(),
                 {Cell(duration(ns / steps), ns), Cell(fmt::format("{:.1f}", count / steps), count),
                  Cell::time(r.mean_ns())});
    if (of_devices) cells.push_back(share_cell(r.device_fraction));
    if (top.path_ns > 0) cells.push_back(share_cell(r.path_fraction));
    html.row(cells);
  }
  return html.html();
}

Top costliest(const ReportPage& page, std::vector<std::string> tables) {
  TopOptions options;
  options.tables = std::move(tables);
  options.most = most_costliest;
  return top_of(page.analysis, page.report.replay.get(), options);
}

std::string folded(const std::string& title, const std::string& html) {
  return html.empty()
             ? ""
             : "<details><summary>" + escaped(title) + "</summary>" + html + "</details>\n";
}

struct CopySum {
  double count = 0, bytes = 0, ns = 0;
  double bytes_per_s() const { return 1e9 * bytes / std::max(ns, 1.0); }
};
// By direction and kind of host memory.
using CopySums = std::map<std::pair<CopyKind, std::string>, CopySum>;

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
      CopySum& s = sums[{kind, unified ? "unified" : name_of(host)}];
      ++s.count;
      s.bytes += static_cast<double>(ops.bytes[op]);
      s.ns += static_cast<double>(ops.end[op] - ops.start[op]);
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

std::string kernels_section(const ReportPage& page) {
  const KernelSums sums = kernel_sums(page.analysis);
  if (sums.classes.empty()) return "";
  const std::string hottest = hottest_kernel_text(page.analysis, page.report.step);
  return (hottest.empty() ? "" : remark(page.cut(hottest, 400))) + kernel_classes(page, sums) +
         folded("The costliest kernels",
                top_table(page, costliest(page, {"kernels"}), "kernels", "Kernels", "Kernel"));
}

std::string calls_section(const ReportPage& page) {
  const Top top = costliest(page, {"calls", "ranges", "operators"});
  return top_table(page, top, "ranges",
                   "Ranges and layers by name, with all that was launched in them", "Range") +
         folded("Operators and calls of libraries",
                top_table(page, top, "operators", "Operators, with all that was launched in them",
                          "Operator")) +
         folded("CUDA calls", top_table(page, top, "calls", "CUDA calls", "Call"));
}

std::string copies_section(const ReportPage& page) {
  const CopySums sums = copy_sums(page.analysis);
  const double link = link_bytes_per_s(page.analysis), steps = page.steps();
  double fastest = link;
  for (const auto& [key, s] : sums) fastest = std::max(fastest, s.bytes_per_s());
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
  for (const auto& [key, s] : sums) {
    const double rate = s.bytes_per_s();
    const std::string drawn = plain_bar(rate / std::max(fastest, 1.0), "copy", std::nullopt,
                                        link > 0 ? std::optional(link / fastest) : std::nullopt);
    table.row(
        {name_of(key.first), key.second, Cell(fmt::format("{:.1f}", s.count / steps), s.count),
         Cell(bytes_text(s.bytes / steps), s.bytes),
         Cell(bytes_text(s.bytes / s.count), s.bytes / s.count), Cell(duration(s.ns / steps), s.ns),
         Cell(shown(rate, Unit::bytes_per_s), rate), Cell::raw(drawn)});
  }
  return table.html();
}

}  // namespace gh
