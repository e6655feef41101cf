// What each layer of the program costs: an icicle, a table, and the memory behind it.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "report/html_parts.hpp"
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

// A column of the table, left out where no row has anything in it.
struct LayerColumn {
  HtmlTable::Column head;
  std::function<Cell(std::size_t)> cell;  // by row of the layers
};

// The figure and the table, of the rows that a page has room for.
class LayersPart {
 public:
  explicit LayersPart(const ReportPage& page)
      : page_(page),
        layers_(page.layers),
        steps_(static_cast<double>(std::max<std::int64_t>(page.layers.steps, 1))) {
    // CUDA's own blocks are a framework's, and of no layer: they say nothing here.
    if (std::any_of(layers_.rows.begin(), layers_.rows.end(),
                    [](const LayerRow& r) { return !r.name.empty() && r.peak_bytes > 0; }))
      for (const LayersMemory& m : layers_.memory)
        peak_bytes_ += static_cast<double>(m.timeline.peak.live_bytes);
    choose_rows();
  }

  std::string html() const { return about() + figure() + table(); }

 private:
  const LayerRow& row(std::size_t i) const { return layers_.rows[i]; }
  double of_step(double sum) const { return sum / steps_; }
  double of_step(Ns sum) const { return of_step(static_cast<double>(sum)); }
  bool has_passes() const {
    return std::any_of(rows_.begin(), rows_.end(), [&](std::size_t i) {
      return row(i).forward_ns > 0 || row(i).backward_ns > 0;
    });
  }

  // The costliest. What holds a row costs no less and stands before it, so it is there too.
  void choose_rows() {
    const auto share = [&](std::size_t i) {
      return std::max(
          ratio(static_cast<double>(row(i).total_ns()), static_cast<double>(layers_.total_ns)),
          ratio(static_cast<double>(row(i).peak_bytes), peak_bytes_));
    };
    rows_.resize(layers_.rows.size());
    std::iota(rows_.begin(), rows_.end(), 0);
    std::stable_sort(rows_.begin(), rows_.end(),
                     [&](std::size_t x, std::size_t y) { return share(x) > share(y); });
    if (rows_.size() > page_.allowed.rows) rows_.resize(page_.allowed.rows);
    while (!rows_.empty() && share(rows_.back()) < least_row_share) rows_.pop_back();
    std::sort(rows_.begin(), rows_.end());
  }

  // "" of what lies in no layer.
  std::string label(const LayerRow& r) const {
    const std::string name = page_.cut(r.name, most_name);
    return is_folded(r) ? fmt::format("{} ({})", name, r.members.size()) : name;
  }
  static bool is_folded(const LayerRow& r) {
    return r.members.size() > 1 && r.name.find('*') != std::string::npos;
  }

  // The mean and the spread of layers that are one row, and which of them are odd.
  std::string beside(const LayerRow& r) const {
    std::string text;
    if (is_folded(r)) {
      const auto [least, most] = std::minmax_element(
          r.members.begin(), r.members.end(),
          [](const LayerMember& x, const LayerMember& y) { return x.work_ns < y.work_ns; });
      const double mean = of_step(r.total_ns()) / static_cast<double>(r.members.size());
      text = fmt::format("mean {}, work {} to {}", unbroken(duration(mean)),
                         unbroken(duration(of_step(least->work_ns))),
                         unbroken(duration(of_step(most->work_ns))));
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
        "What each layer takes of {}: the time that its work runs on the GPU, and the time in "
        "which the GPU waits for that work. A block lies below the layer that holds it, and layers "
        "that are equal are one block. Choose a block to look into it.{}",
        layers_.has_steps ? "a mean " + layers_.noun : page_.analysis.words().a,
        has_passes() ? " The line below a block's name tells forward from backward." : ""));
  }

  // The figure holds its own data: page.js draws it, and finds the numbers in this order.
  std::string figure() const {
    std::vector<std::int64_t> place(layers_.rows.size(), -1);
    Json nodes = Json::array();
    for (const std::size_t i : rows_) {
      const LayerRow& r = row(i);
      place[i] = static_cast<std::int64_t>(nodes.size());
      nodes.push_back({r.parent == LayerRow::no_parent ? -1 : place[r.parent], label(r),
                       std::llround(of_step(r.total_ns())), std::llround(of_step(r.forward_ns)),
                       std::llround(of_step(r.backward_ns)), std::llround(of_step(r.sum.idle_ns)),
                       r.peak_bytes, layers_.bound_by[i], beside(r)});
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
    const LayerRow& r = row(rows_[place]);
    const std::string more = beside(r);
    return Cell::raw(
        fmt::format("<span class=nested style=\"padding-left:{:.1f}rem\"{}>{}{}</span>",
                    0.8 * std::min<std::uint32_t>(r.depth, 12),
                    r.depth > 0 && !r.path.empty()
                        ? fmt::format(" title=\"{}\"", escaped(page_.cut(r.path, 400)))
                        : "",
                    escaped(r.name.empty() ? "(in no layer)" : label(r)),
                    more.empty() ? "" : element("small", more, "class=faint")),
        static_cast<double>(place));
  }

  Cell time_cell(Ns ns) const {
    return ns > 0 ? Cell(duration(of_step(ns)), static_cast<double>(ns)) : Cell("");
  }
  Cell share_cell(double part, double whole) const {
    return part > 0 && whole > 0 ? Cell::share(part / whole) : Cell("");
  }
  Cell flops_cell(const WorkSum& sum) const {
    if (sum.flops <= 0) return "";
    return {(sum.more_flops() ? "> " : "") + flops_text(of_step(sum.flops)), sum.flops};
  }
  Cell bytes_cell(double bytes, double steps) const {
    return bytes > 0 ? Cell(bytes_text(bytes / steps), bytes) : Cell("");
  }

  // The least and the most that a device takes; the further they are apart, the higher it sorts.
  Cell devices_cell(const WorkSum& sum) const {
    if (layers_.devices.size() < 2 || sum.by_device.size() < 2) return "";
    const double steps = steps_ / static_cast<double>(layers_.devices.size());
    const auto [least, most] = std::minmax_element(sum.by_device.begin(), sum.by_device.end());
    return {fmt::format("{} to {}", duration(static_cast<double>(*least) / steps),
                        duration(static_cast<double>(*most) / steps)),
            static_cast<double>(*most - *least)};
  }

  std::vector<LayerColumn> columns() const {
    const auto sum = [this](std::size_t i) -> const WorkSum& { return row(i).sum; };
    const auto total = static_cast<double>(layers_.total_ns),
               path = static_cast<double>(layers_.path_ns);
    std::vector<LayerColumn> all{
        {{"Time", true}, [=, this](std::size_t i) { return time_cell(row(i).total_ns()); }},
        {{"Share", true},
         [=, this](std::size_t i) {
           return share_cell(static_cast<double>(row(i).total_ns()), total);
         }},
        {{"Forward", true}, [=, this](std::size_t i) { return time_cell(row(i).forward_ns); }},
        {{"Backward", true}, [=, this](std::size_t i) { return time_cell(row(i).backward_ns); }},
        {{"Idle", true}, [=, this](std::size_t i) { return time_cell(sum(i).idle_ns); }},
        {{"Of the path", true},
         [=, this](std::size_t i) {
           return share_cell(static_cast<double>(row(i).path_ns), path);
         }},
        {{"Launches", true},
         [=, this](std::size_t i) {
           const auto launches = static_cast<double>(sum(i).launches);
           return launches > 0 ? Cell(fmt::format("{:.0f}", of_step(launches)), launches)
                               : Cell("");
         }},
        {{"FLOP", true}, [=, this](std::size_t i) { return flops_cell(sum(i)); }},
        {{"Bytes", true},
         [=, this](std::size_t i) {
           return sum(i).tells_size() ? bytes_cell(sum(i).bytes, steps_) : Cell("");
         }},
        {{"Attained", true},
         [=](std::size_t i) {
           return sum(i).tells_size() ? Cell::share(sum(i).attained()) : Cell("");
         }},
        {{"Memory at the peak", true},
         [=, this](std::size_t i) {
           return bytes_cell(peak_bytes_ > 0 ? static_cast<double>(row(i).peak_bytes) : 0, 1);
         }},
        {{"By device", true}, [=, this](std::size_t i) { return devices_cell(sum(i)); }},
        {{"Bound by"}, [=, this](std::size_t i) { return Cell(layers_.bound_by[i]); }}};
    std::erase_if(all, [&](const LayerColumn& c) {
      return std::all_of(rows_.begin(), rows_.end(),
                         [&](std::size_t i) { return c.cell(i).html.empty(); });
    });
    return all;
  }

  std::string caption() const {
    std::string text = fmt::format(
        "Layers{}, each with all that lies in it; the rows at the margin add up to {}. Idle is "
        "what the GPU waits for the layer's work, part of its time",
        page_.mean_of(), duration(of_step(layers_.total_ns)));
    if (const std::size_t rest = layers_.rows_in_all - rows_.size(); rest > 0)
      text += fmt::format("; {} smaller one{} left out", rest, rest == 1 ? "" : "s");
    return text;
  }

  std::string table() const {
    const std::vector<LayerColumn> shown = columns();
    std::vector<HtmlTable::Column> heads{{"Layer"}};
    for (const LayerColumn& c : shown) heads.push_back(c.head);
    HtmlTable html(caption(), heads);
    html.searched_as("layer");
    for (std::size_t place = 0; place < rows_.size(); ++place) {
      std::vector<Cell> cells{name_cell(place)};
      for (const LayerColumn& c : shown) cells.push_back(c.cell(rows_[place]));
      html.row(cells);
    }
    return html.html(layers_open);
  }

  const ReportPage& page_;
  const Layers& layers_;
  const double steps_;
  double peak_bytes_ = 0;          // of all devices; 0 if no layer is known to have allocated
  std::vector<std::size_t> rows_;  // those shown, in the order of the tree
};

}  // namespace

std::string layers_section(const ReportPage& page) {
  const Layers& layers = page.layers;
  const bool any = std::any_of(layers.rows.begin(), layers.rows.end(),
                               [](const LayerRow& r) { return !r.name.empty(); });
  if (!any && layers.memory.empty()) return "";
  std::string html = any ? LayersPart(page).html() : "";
  for (const std::string& note : layers.notes) html += remark(note);
  return html + memory_part(page);
}

}  // namespace gh
