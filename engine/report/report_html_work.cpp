// What the GPUs ran: kernels by class and by name, copies over the link to the host.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/phrases.hpp"
#include "report/prose.hpp"
#include "report/range_tree.hpp"
#include "report/report_page.hpp"
#include "report/top.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t costliest_open = 30;  // rows of a table that are not folded
// Of the step or of its GPU work that operators without any range around them have to tell of.
constexpr double least_told_share = 0.1;

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
    table.row({class_label(kernel_class), Cell(duration(s.ns / steps), s.ns),
               Cell::share(s.ns / sums.ns), Cell(fmt::format("{:.1f}", s.count / steps), s.count),
               Cell::time(s.ns / s.count),
               Cell::raw(plain_bar(s.ns / sums.ns, name_of(activity_of_kernels(kernel_class))))});
  return table.html();
}

Cell share_cell(const std::optional<double>& fraction) {
  return fraction ? Cell::share(*fraction) : Cell("");
}

// A table of `gh-advise top`, of a mean step, folded behind how many rows it has; "" where it has
// none. `kind`: what a row is.
std::string top_table(const ReportPage& page, const Top& top, const std::string& name,
                      const std::string& caption, const std::string& kind) {
  const auto table = std::find_if(top.tables.begin(), top.tables.end(),
                                  [&](const TopTable& t) { return t.name == name; });
  if (table == top.tables.end()) return "";
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
  const std::string count =
      table->rows_in_all > table->rows.size()
          ? fmt::format("the costliest {} of {}", table->rows.size(), table->rows_in_all)
          : std::to_string(table->rows.size());
  return folded(fmt::format("{} by name ({})", capitalized(plural(kind)), count),
                html.html(costliest_open));
}

Top costliest(const ReportPage& page, std::vector<std::string> tables) {
  TopOptions options;
  options.tables = std::move(tables);
  options.most = page.allowed.rows;
  return top_of(page.analysis, page.report.replay.get(), options);
}

// What a report without ranges lacks, and how to record them.
std::string no_ranges_text(const Analysis& a) {
  return a.trace.format == "PyTorch profiler trace"
             ? "No ranges were recorded. To see where a step's time goes by phase and module, put "
               "`torch.profiler.record_function(\"forward\")` around parts of the step, or record "
               "with `torch.profiler.profile(with_stack=True)`."
             : "No ranges were recorded. To see where a step's time goes by phase and module, put "
               "`torch.cuda.nvtx.range(\"forward\")` or `nvtxRangePush` and `nvtxRangePop` around "
               "parts of the step, and record with `nsys profile --trace=cuda,nvtx`.";
}

const char* kind_of_node(RangeNode::Of of) {
  switch (of) {
    case RangeNode::Of::op: return "operator";
    case RangeNode::Of::frame: return "Python";
    default: return "range";
  }
}

// The tree as a table, which says what the figure draws. Sorted by its first column it is a tree
// again.
std::string tree_table(const ReportPage& page, const RangeTree& tree) {
  HtmlTable table(
      fmt::format(
          "Ranges one within the other{}, as recorded: the host's time from start to end, "
          "and the GPU work launched within, of which what runs side by side counts in full",
          page.mean_of()),
      {{"Range"},
       {"Kind"},
       {"Time", true},
       {"Share", true},
       {"GPU work", true},
       {"How many", true}});
  table.searched_as("");
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const RangeNode& n = tree.nodes[i];
    table.row(
        {Cell::raw(fmt::format("<span class=nested style=\"padding-left:{:.1f}rem\">{}</span>",
                               0.8 * std::min<std::uint32_t>(n.depth, 12),
                               escaped(page.cut(n.name, 160))),
                   static_cast<double>(i)),
         kind_of_node(n.of), Cell::time(n.host_ns),
         Cell::share(n.host_ns / std::max(tree.step_ns, 1.0)), Cell::time(n.device_ns),
         Cell(fmt::format("{:.1f}", n.count), n.count)});
  }
  return folded(
      fmt::format(
          "As a table ({}{})", plural(static_cast<std::int64_t>(tree.nodes.size()), "range"),
          tree.left_out > 0 ? fmt::format("; {} smaller ones left out", tree.left_out) : ""),
      table.html(costliest_open));
}

// Calls of libraries alone, here and there in a step, are no tree.
bool says_something(const RangeTree& tree) {
  double host_ns = 0, device_ns = 0;
  for (const RangeNode& n : tree.nodes) {
    if (n.of != RangeNode::Of::op) return true;
    if (n.parent != RangeNode::no_parent) continue;
    host_ns += n.host_ns;
    device_ns += n.device_ns;
  }
  return host_ns > least_told_share * tree.step_ns || device_ns > least_told_share * tree.device_ns;
}

std::string tree_figure(const ReportPage& page, const RangeTree& tree, TimelineData& timelines) {
  timelines.add(tree);
  return remark(
             "What each part of the program takes: a block lies below the one that holds it. "
             "Choose "
             "a block to look into it. The green line shows how much GPU work was launched in a "
             "block, against its own time.") +
         "<figure class=icicle id=icicle></figure>\n" + tree_table(page, tree);
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
         top_table(page, costliest(page, {"kernels"}), "kernels", "Kernels", "kernel");
}

std::string ranges_section(const ReportPage& page, TimelineData& timelines) {
  if (page.analysis.total_ns() == 0) return "";
  const RangeTree tree = range_tree_of(page.analysis, page.allowed.nodes);
  const Top top = costliest(page, {"ranges", "operators"});
  return (says_something(tree) ? tree_figure(page, tree, timelines)
                               : prose_paragraph(no_ranges_text(page.analysis))) +
         top_table(page, top, "ranges", "Ranges by name, with all that was launched in them",
                   "range") +
         top_table(page, top, "operators", "Operators, with all that was launched in them",
                   "operator");
}

std::string calls_section(const ReportPage& page) {
  return top_table(page, costliest(page, {"calls"}), "calls", "CUDA calls", "call");
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
