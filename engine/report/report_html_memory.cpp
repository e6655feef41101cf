// GPU memory over time: a curve for each device, what was in use at its peak, and what that means.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_figures.hpp"
#include "report/html_parts.hpp"
#include "report/memory_words.hpp"
#include "report/phrases.hpp"
#include "report/report_page.hpp"

namespace gh {
namespace {

using Cell = HtmlTable::Cell;

// The plot, in the units of its viewBox, which is stretched to the width of the page.
constexpr double curve_width = 1000, curve_height = 200, curve_top = 6;
// Of the GPU's memory: from there on its end is drawn as well.
constexpr double near_the_end = 0.5;
constexpr std::size_t most_curves = 8, most_steps_drawn = 60;

std::string amount_text(std::int64_t bytes) { return bytes_text(static_cast<double>(bytes)); }

class Curve {
 public:
  explicit Curve(const MemoryTimeline& memory) : m_(memory) {
    for (const MemoryPoint& p : m_.curve) most_ = std::max({most_, p.live_bytes, p.reserved_bytes});
    most_ = std::max({most_, m_.peak.live_bytes, std::int64_t{1}});
    has_limit_ = m_.device_bytes > 0 &&
                 static_cast<double>(most_) >= near_the_end * static_cast<double>(m_.device_bytes);
    if (has_limit_) most_ = std::max(most_, m_.device_bytes);
    has_reserved_ =
        m_.has_unused && std::any_of(m_.curve.begin(), m_.curve.end(),
                                     [](const MemoryPoint& p) { return p.reserved_bytes >= 0; });
  }

  std::string html(const std::string& caption) const {
    return fmt::format(
        "<figure class=curve><figcaption>{0}</figcaption><div class=plot><span "
        "class=most>{1}</span><span class=least>0 B</span><svg viewBox=\"0 0 {2} {3}\" "
        "preserveAspectRatio=none role=img aria-label=\"{0}\">{4}</svg><span "
        "class=from>{5}</span><span class=to>{6}</span></div>{7}</figure>\n",
        escaped(caption), amount_text(most_), curve_width, curve_height, drawn(),
        seconds(m_.window.start), seconds(m_.window.end), legend_html());
  }

 private:
  double x(Ns at) const {
    const auto length = static_cast<double>(std::max<Ns>(m_.window.length(), 1));
    return std::clamp(static_cast<double>(at - m_.window.start) / length, 0.0, 1.0) * curve_width;
  }
  double y(std::int64_t bytes) const {
    return curve_height -
           (curve_height - curve_top) * static_cast<double>(bytes) / static_cast<double>(most_);
  }

  // Each point holds until the next. `bytes_of` is negative where nothing is known.
  template <class BytesOf>
  std::string line(BytesOf bytes_of) const {
    std::string d;
    bool known = false;
    for (const MemoryPoint& p : m_.curve) {
      const std::int64_t bytes = bytes_of(p);
      if (known) d += fmt::format("H{:.1f}", x(p.at));
      if (bytes >= 0)
        d += known ? fmt::format("V{:.1f}", y(bytes))
                   : fmt::format("M{:.1f} {:.1f}", x(p.at), y(bytes));
      known = bytes >= 0;
    }
    return known ? d + fmt::format("H{}", curve_width) : d;
  }

  std::string drawn() const {
    std::string out;
    if (const std::string live = line([](const MemoryPoint& p) { return p.live_bytes; });
        !live.empty())
      out += fmt::format("<path class=live d=\"M{:.1f} {}L{}V{}z\" />", x(m_.curve.front().at),
                         curve_height, live.substr(1), curve_height);
    const std::size_t each = m_.steps.size() / most_steps_drawn + 1;
    for (std::size_t s = 0; s < m_.steps.size(); s += each)
      out += fmt::format("<line class=begin x1={0:.1f} x2={0:.1f} y1=0 y2={1} />",
                         x(m_.steps[s].begin), curve_height);
    if (has_reserved_)
      out += fmt::format("<path class=reserved d=\"{}\" />",
                         line([](const MemoryPoint& p) { return p.reserved_bytes; }));
    if (has_limit_)
      out += fmt::format("<line class=end x1=0 x2={0} y1={1:.1f} y2={1:.1f} />", curve_width,
                         y(m_.device_bytes));
    return out + fmt::format("<line class=peak x1={0:.1f} x2={0:.1f} y1={1:.1f} y2={2} />",
                             x(m_.peak.at), y(m_.peak.live_bytes), curve_height);
  }

  std::string legend_html() const {
    std::vector<LegendItem> items{{"live", "in use"}};
    if (has_reserved_) items.emplace_back("reserved", "reserved");
    if (has_limit_) items.emplace_back("end", "all that the GPU has");
    items.emplace_back("peak", "the peak");
    if (m_.steps.size() > 1) items.emplace_back("begin", "a step begins");
    return legend(items);
  }

  const MemoryTimeline& m_;
  std::int64_t most_ = 0;  // that the plot shows
  bool has_limit_ = false, has_reserved_ = false;
};

std::string caption_of(const LayersMemory& memory, const std::string& device) {
  const MemoryTimeline& m = memory.timeline;
  std::string text = fmt::format("{}: at most {} in use, at {}", device,
                                 amount_text(m.peak.live_bytes), seconds(m.peak.at));
  if (m.has_unused && m.peak.reserved_bytes >= 0)
    text += fmt::format("; {} reserved then", amount_text(m.peak.reserved_bytes));
  if (m.device_bytes > 0) text += fmt::format("; the GPU has {}", amount_text(m.device_bytes));
  return text;
}

std::string classes_table(const LayersMemory& memory) {
  std::vector<std::pair<MemoryClass, double>> classes;
  double all = 0;
  for (std::size_t c = 0; c < memory_class_count; ++c)
    if (const std::int64_t bytes = memory.classes.bytes[c]; bytes > 0) {
      classes.emplace_back(static_cast<MemoryClass>(c), static_cast<double>(bytes));
      all += classes.back().second;
    }
  std::stable_sort(classes.begin(), classes.end(),
                   [](const auto& x, const auto& y) { return x.second > y.second; });
  HtmlTable table("What was in use at the peak",
                  {{"Memory"}, {"Bytes", true}, {"Share", true}, {"Share, drawn"}});
  table.becomes_lines();
  for (const auto& [of, bytes] : classes) {
    const MemoryClassWords words = words_of(of, memory.timeline.allocator);
    table.row({Cell::raw(fmt::format("<span class=nested>{}{}</span>", escaped(words.name),
                                     element("small", words.what, "class=faint"))),
               Cell(bytes_text(bytes), bytes), Cell::share(bytes / all),
               Cell::raw(plain_bar(bytes / all, "worth"), bytes)});
  }
  return table.html();
}

std::string one_device(const ReportPage& page, const LayersMemory& memory) {
  return Curve(memory.timeline).html(caption_of(memory, page.cut(memory.device, 120))) +
         classes_table(memory) + bullets(memory.meaning);
}

// A row a device, where there are several.
std::string devices_table(const ReportPage& page, const std::vector<const LayersMemory*>& devices) {
  const bool has_reserved = std::any_of(devices.begin(), devices.end(), [](const auto* d) {
    return d->timeline.unused_bytes().has_value();
  });
  std::vector<HtmlTable::Column> heads{{"Device"}, {"In use", true}, {"At", true}};
  if (has_reserved) heads.push_back({"Reserved then", true});
  heads.push_back({"Of the GPU", true});
  HtmlTable table("The most memory in use, device by device", heads);
  table.becomes_lines();
  for (std::size_t d = 0; d < std::min(devices.size(), page.allowed.devices); ++d) {
    const MemoryTimeline& m = devices[d]->timeline;
    const auto live = static_cast<double>(m.peak.live_bytes),
               reserved = static_cast<double>(m.peak.reserved_bytes);
    std::vector<Cell> cells{page.cut(devices[d]->device, 120), Cell(bytes_text(live), live),
                            Cell(seconds(m.peak.at), static_cast<double>(m.peak.at))};
    if (has_reserved)
      cells.push_back(m.unused_bytes() ? Cell(bytes_text(reserved), reserved) : Cell(""));
    cells.push_back(m.device_bytes > 0 ? Cell::share(std::max(live, reserved) /
                                                     static_cast<double>(m.device_bytes))
                                       : Cell(""));
    table.row(cells);
  }
  return table.html();
}

}  // namespace

std::string memory_part(const ReportPage& page) {
  if (page.layers.memory.empty()) return "";
  std::vector<const LayersMemory*> devices;
  for (const LayersMemory& memory : page.layers.memory) devices.push_back(&memory);
  std::stable_sort(devices.begin(), devices.end(), [](const auto* x, const auto* y) {
    return x->timeline.peak.live_bytes > y->timeline.peak.live_bytes;
  });
  std::string html = element("h3", "Memory over time");
  if (devices.size() > 1) html += devices_table(page, devices);
  html += one_device(page, *devices.front());
  for (std::size_t d = 1; d < std::min(devices.size(), most_curves); ++d)
    html += folded(page.cut(devices[d]->device, 120), one_device(page, *devices[d]));
  return html;
}

}  // namespace gh
