// What each part of the program costs: its modules, ranges, functions and operators within each
// other, as an icicle and a table; the same by name; and the memory behind it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "report/html_parts.hpp"
#include "report/prose.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

constexpr std::size_t layers_open = 30;  // rows of the table that are not folded
// Of the time, or of the memory at the peak, that a row has at least.
constexpr double least_row_share = 0.0005;
constexpr std::size_t most_odd_listed = 3, most_name = 160;

// What stands in one piece where lines break: a number beside its unit.
std::string unbroken(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == ' ' ? "\u00a0" : std::string(1, c);
  return out;
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

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

// The figure and the table, of the rows that a page has room for.
class LayersPart {
 public:
  explicit LayersPart(const ReportPage& page)
      : page_(page), layers_(page.layers), steps_(page.layers.steps_or_one()) {
    // CUDA's own blocks are a framework's, and of no layer: they say nothing here.
    if (std::any_of(layers_.rows().begin(), layers_.rows().end(),
                    [](const TableRow& r) { return !r.name.empty() && r.peak_bytes > 0; }))
      for (const LayersMemory& m : layers_.memory)
        peak_bytes_ += static_cast<double>(m.timeline.peak.live_bytes);
    choose_rows();
  }

  std::string html() const { return about() + figure() + table(); }

 private:
  const TableRow& row(std::size_t i) const { return layers_.rows()[i]; }
  double of_step(double sum) const { return sum / steps_; }
  double of_step(Ns sum) const { return of_step(static_cast<double>(sum)); }
  bool has_passes() const {
    return std::any_of(rows_.begin(), rows_.end(), [&](std::size_t i) {
      return row(i).forward_ns > 0 || row(i).backward_ns > 0;
    });
  }

  // The costliest. What holds a row counts as no less and stands before it, so it is there too.
  void choose_rows() {
    std::vector<double> share(layers_.rows().size());
    for (std::size_t i = share.size(); i-- > 0;) {
      const TableRow& r = row(i);
      const auto most_ns = static_cast<double>(std::max({r.total_ns(), r.host_ns, r.device_ns}));
      share[i] = std::max({share[i], ratio(most_ns, static_cast<double>(layers_.total_ns)),
                           ratio(static_cast<double>(r.peak_bytes), peak_bytes_)});
      if (r.parent != TableRow::no_parent) share[r.parent] = std::max(share[r.parent], share[i]);
    }
    rows_.resize(share.size());
    std::iota(rows_.begin(), rows_.end(), 0);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](std::size_t x, std::size_t y) { return share[x] > share[y]; });
    if (rows_.size() > page_.allowed.nodes) rows_.resize(page_.allowed.nodes);
    while (!rows_.empty() && share[rows_.back()] < least_row_share) rows_.pop_back();
    std::sort(rows_.begin(), rows_.end());
  }

  // "" of what lies in no layer.
  std::string label(const TableRow& r) const {
    const std::string name = page_.cut(r.name, most_name);
    return r.is_folded() ? fmt::format("{} ({})", name, r.members.size()) : name;
  }

  // The mean and the spread of layers that are one row, and which of them are odd.
  std::string beside(const TableRow& r) const {
    std::string text;
    if (r.is_folded()) {
      const auto [least_ns, most_ns] = r.least_most_work_ns();
      const double mean = of_step(r.total_ns()) / static_cast<double>(r.members.size());
      text =
          fmt::format("mean {}, work {} to {}", unbroken(duration(mean)),
                      unbroken(duration(of_step(least_ns))), unbroken(duration(of_step(most_ns))));
    }
    const auto median = static_cast<double>(std::max<Ns>(r.median_work_ns(), 1));
    for (std::size_t i = 0; i < std::min(most_odd_listed, r.odd.size()); ++i) {
      const LayerMember& m = r.members[r.odd[i]];
      text += fmt::format("{}{} takes {:.1f} times the others'", text.empty() ? "" : "; ",
                          page_.cut(m.name, most_name), static_cast<double>(m.work_ns) / median);
    }
    if (r.odd.size() > most_odd_listed)
      text += fmt::format("; {} more odd ones", r.odd.size() - most_odd_listed);
    return text;
  }

  std::string about() const {
    return remark(fmt::format(
        "What each part of the program takes of {}: the time that its work runs on the GPU, and "
        "the time in which the GPU waits for that work. A block lies below the one that holds it, "
        "and layers that are equal are one block. Choose a block to look into it.{}",
        layers_.has_steps ? "a mean " + layers_.noun : page_.analysis.words().a,
        has_passes() ? " The line below a block's name tells forward from backward." : ""));
  }

  // The figure holds its own data: page.js draws it, and finds the numbers in this order.
  std::string figure() const {
    std::vector<std::int64_t> place(layers_.rows().size(), -1);
    Json nodes = Json::array();
    for (const std::size_t i : rows_) {
      const TableRow& r = row(i);
      place[i] = static_cast<std::int64_t>(nodes.size());
      nodes.push_back({r.parent == TableRow::no_parent ? -1 : place[r.parent], label(r),
                       std::llround(of_step(r.total_ns())), std::llround(of_step(r.forward_ns)),
                       std::llround(of_step(r.backward_ns)), std::llround(of_step(r.sum.idle_ns)),
                       r.peak_bytes, r.bound_by, beside(r), std::llround(of_step(r.host_ns)),
                       std::llround(of_step(r.device_ns)), static_cast<int>(r.of)});
    }
    const Json tree{
        {"unit", layers_.has_steps ? "a mean " + layers_.noun : page_.analysis.words().a},
        {"total", std::llround(of_step(layers_.total_ns))},
        {"memory", std::llround(peak_bytes_)},
        {"nodes", std::move(nodes)}};
    return fmt::format("<figure class=icicle id=layers-icicle data-tree=\"{}\"></figure>\n",
                       escaped(tree.dump(-1, ' ', false, Json::error_handler_t::replace)));
  }

  // Indented by what it lies in. Sorted by this column the table is a tree again.
  Cell name_cell(std::size_t place) const {
    const TableRow& r = row(rows_[place]);
    const std::string more = beside(r);
    return Cell::raw(
        fmt::format("<span class=nested style=\"padding-left:{:.1f}rem\"{}>{}{}</span>",
                    0.8 * std::min<std::uint32_t>(r.depth, 12),
                    r.depth > 0 && !r.path.empty()
                        ? fmt::format(" title=\"{}\"", escaped(page_.cut(r.path, 400)))
                        : "",
                    escaped(r.name.empty() ? r.label : label(r)),
                    more.empty() ? "" : element("small", more, "class=faint")),
        static_cast<double>(place));
  }

  std::string caption() const {
    std::string text = fmt::format(
        "Layers{}, each with all that lies in it; the rows at the margin add up to {}. Idle is "
        "what the GPU waits for the layer's work, part of its time. Of GPU work, what runs side by "
        "side counts in full; host time is that of its ranges, from start to end; of ranges of "
        "steps and passes, and of Python's functions, without the layers within",
        page_.mean_of(), duration(of_step(layers_.total_ns)));
    if (const std::size_t rest = layers_.rows_in_all() - rows_.size(); rest > 0)
      text += "; " + left_out_text(rest);
    return text;
  }

  std::string table() const {
    std::vector<LayerColumn> columns = layer_columns(layers_, rows_);
    std::erase_if(columns, [&](const LayerColumn& c) {
      return !c.page_title ||
             (std::string_view(c.title ? c.title : "") == "AT PEAK" && peak_bytes_ == 0);
    });
    std::vector<HtmlTable::Column> heads{{"Layer"}};
    for (const LayerColumn& c : columns) heads.push_back({c.page_title, c.is_number});
    HtmlTable html(caption(), heads);
    html.searched_as("layer");
    for (std::size_t place = 0; place < rows_.size(); ++place) {
      std::vector<Cell> cells{name_cell(place)};
      for (const LayerColumn& c : columns) {
        const auto [text, value] = c.cell(row(rows_[place]));
        cells.push_back(value ? Cell(text, *value) : Cell(text));
      }
      html.row(cells);
    }
    return html.html(layers_open);
  }

  const ReportPage& page_;
  const TablesReport& layers_;
  const double steps_;
  double peak_bytes_ = 0;          // of all devices; 0 if no layer is known to have allocated
  std::vector<std::size_t> rows_;  // those shown, in the order of the tree
};

}  // namespace

std::string layers_section(const ReportPage& page) {
  if (page.analysis.total_ns() == 0) return "";
  const TablesReport& layers = page.layers;
  const Trace& t = page.analysis.trace;
  const bool any = std::any_of(layers.rows().begin(), layers.rows().end(),
                               [](const TableRow& r) { return !r.name.empty(); });
  std::string html = any ? LayersPart(page).html() : "";
  if (t.ranges.size() == 0 && t.frames.size() == 0)
    html += prose_paragraph(no_ranges_text(page.analysis));
  else
    for (const std::string& note : layers.notes) html += remark(note);
  const TablesReport by_name = costliest(page, {"ranges", "operators"});
  return html +
         table_by_name(page, by_name, "ranges",
                       "Ranges by name, with all that was launched in them", "range") +
         table_by_name(page, by_name, "operators", "Operators, with all that was launched in them",
                       "operator") +
         memory_part(page);
}

}  // namespace gh
