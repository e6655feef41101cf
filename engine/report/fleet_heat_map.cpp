#include "report/fleet_heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/activity.hpp"
#include "report/fleet_phrases.hpp"
#include "report/html_parts.hpp"

namespace gh {
namespace {

// With its rows some thousands of cells, half a megabyte at worst.
constexpr std::size_t most_columns = 320;
// Of more nodes their borders would hide the map.
constexpr std::size_t most_nodes_apart = 64;

// Shades: a cell has the darkest of which its share of the job's step reaches the limit.
constexpr std::array<double, 7> limits{0.005, 0.01, 0.02, 0.05, 0.10, 0.20, 0.50};
constexpr std::array<double, 7> shades{0.08, 0.17, 0.28, 0.42, 0.58, 0.78, 1};

// The place of the map in its SVG, in the units of its viewBox.
constexpr double left = 190, right = 1000, top = 18, row_height = 20;

struct HeatCell {
  const FleetRank* rank;
  std::size_t shade;  // counted from 1; 0 draws nothing
};

class HeatMap {
 public:
  explicit HeatMap(const Fleet& fleet)
      : fleet_(fleet),
        each_((fleet.ranks.size() + most_columns - 1) / most_columns),
        columns_((fleet.ranks.size() + each_ - 1) / each_),
        width_((right - left) / static_cast<double>(columns_)) {
    for (std::size_t c = 0; c < fleet.causes.size(); ++c)
      if (static_cast<double>(fleet.account[c].most) >= limits.front() * fleet.step_ns)
        causes_.push_back(c);
    bottom_ = top + row_height * static_cast<double>(causes_.size());
  }

  std::string svg() const {
    if (causes_.empty() || fleet_.step_ns <= 0) return "";
    std::string said =
        "Ranks from left to right, causes from top to bottom; the darker, the more of the job's " +
        fleet_.unit.noun;
    if (each_ > 1)
      said += fmt::format(
          ". Of every {} ranks the one is drawn that differs most from the middle one", each_);
    std::string out = fmt::format(
        "<figure><figcaption>{0}</figcaption><svg class=strip viewBox=\"0 0 1010 {1:.0f}\" "
        "role=img aria-label=\"{0}\">",
        escaped(said), bottom_ + 44);
    for (std::size_t r = 0; r < causes_.size(); ++r) out += row(r);
    return out + marks() + axis() + shades_legend() + "</svg></figure>\n";
  }

 private:
  // Where there are more ranks than columns, a column shows that one of its ranks which differs
  // most from the middle rank, as that is what one looks for.
  std::vector<HeatCell> cells_of(std::size_t cause) const {
    const std::size_t n = fleet_.ranks.size();
    const auto usual = static_cast<double>(fleet_.account[cause].middle);
    std::vector<HeatCell> cells;
    for (std::size_t i = 0; i < n; i += each_) {
      const auto first = fleet_.ranks.begin() + static_cast<std::ptrdiff_t>(i),
                 last = fleet_.ranks.begin() + static_cast<std::ptrdiff_t>(std::min(i + each_, n));
      const FleetRank& r =
          *std::max_element(first, last, [&](const FleetRank& a, const FleetRank& b) {
            return std::abs(a.cause_ns[cause] - usual) < std::abs(b.cause_ns[cause] - usual);
          });
      const double share = r.cause_ns[cause] / fleet_.step_ns;
      cells.push_back(
          {&r, static_cast<std::size_t>(std::upper_bound(limits.begin(), limits.end(), share) -
                                        limits.begin())});
    }
    return cells;
  }

  // One cause. Neighbours in one shade are one rectangle.
  std::string row(std::size_t index) const {
    const std::size_t cause = causes_[index];
    const double y = top + row_height * static_cast<double>(index);
    std::string out = fmt::format("<text x={} y={:.0f} text-anchor=end>{}</text>", left - 6, y + 14,
                                  escaped(shortened(cause_label(fleet_.causes[cause]), 32)));
    const std::vector<HeatCell> cells = cells_of(cause);
    for (std::size_t i = 0; i < cells.size();) {
      std::size_t end = i + 1;
      while (end < cells.size() && cells[end].shade == cells[i].shade) ++end;
      if (cells[i].shade > 0) out += rectangle(cause, cells, i, end, y);
      i = end;
    }
    return out;
  }

  std::string rectangle(std::size_t cause, const std::vector<HeatCell>& cells, std::size_t begin,
                        std::size_t end, double y) const {
    const FleetRank &first = *cells[begin].rank, &last = *cells[end - 1].rank;
    double least = first.cause_ns[cause], most = least;
    for (std::size_t i = begin; i < end; ++i) {
      least = std::min(least, cells[i].rank->cause_ns[cause]);
      most = std::max(most, cells[i].rank->cause_ns[cause]);
    }
    const std::string who = &first == &last ? fmt::format("rank {}{}", first.rank, on_node(first))
                                            : fmt::format("ranks {} to {}", first.rank, last.rank);
    const std::string time = duration(least) == duration(most)
                                 ? duration(most)
                                 : fmt::format("{} to {}", duration(least), duration(most));
    return fmt::format(
        "<rect {} x={:.2f} y={:.0f} width={:.2f} height={} "
        "fill-opacity={}><title>{}</title></rect>",
        colour_of(fleet_.causes[cause]), left + width_ * static_cast<double>(begin), y + 1,
        std::max(width_ * static_cast<double>(end - begin), 0.5), row_height - 2,
        shades[cells[begin].shade - 1],
        escaped(fmt::format("{}: {}, {} {}", who, cause_label(fleet_.causes[cause]), time,
                            fleet_.unit.per)));
  }

  // A pattern, which tells idle time from other elsewhere, would not show in a narrow cell; here
  // each row has its name.
  static std::string colour_of(const std::string& cause) {
    return Cause(cause).is_idle() ? "style=\"fill:var(--idle)\""
                                  : fmt::format("class=\"{}\"", name_of(activity_of(cause)));
  }

  // Late ranks are marked above, and the first of each node below, where there is room for that.
  std::string marks() const {
    const bool nodes_apart = fleet_.nodes.size() > 1 && fleet_.nodes.size() <= most_nodes_apart;
    std::string out;
    for (std::size_t i = 0; i < fleet_.ranks.size(); ++i) {
      const FleetRank& r = fleet_.ranks[i];
      const std::size_t column = i / each_;
      const double x = left + width_ * static_cast<double>(column);
      if (std::find(fleet_.stragglers.begin(), fleet_.stragglers.end(), r.rank) !=
          fleet_.stragglers.end())
        out += fmt::format(
            "<rect class=\"mark error\" x={:.2f} y=4 width={:.2f} "
            "height=9><title>{}</title></rect>",
            x, std::max(width_, 2.0),
            escaped(
                fmt::format("rank {}{} comes {} late", r.rank, on_node(r), duration(r.late_ns))));
      if (nodes_apart && i > 0 && r.node != fleet_.ranks[i - 1].node)
        out += fmt::format("<line class=axis x1={0:.2f} x2={0:.2f} y1={1} y2={2:.0f} />", x, top,
                           bottom_ + 6);
    }
    if (!fleet_.stragglers.empty())
      out += fmt::format("<text x={} y=13 text-anchor=end>late</text>", left - 6);
    return out;
  }

  std::string axis() const {
    return fmt::format(
        "<text x={} y={:.0f}>rank {}</text><text x={} y={:.0f} text-anchor=end>rank {}</text>",
        left, bottom_ + 18, fleet_.ranks.front().rank, right, bottom_ + 18,
        fleet_.ranks.back().rank);
  }

  std::string shades_legend() const {
    std::string out;
    double x = left;
    for (std::size_t s = 0; s < limits.size(); ++s, x += 100)
      out += fmt::format(
          "<rect class=kernels x={:.0f} y={:.0f} width=14 height=10 fill-opacity={} /><text "
          "x={:.0f} y={:.0f}>from {}</text>",
          x, bottom_ + 28, shades[s], x + 18, bottom_ + 37, percent(limits[s]));
    return out;
  }

  const Fleet& fleet_;
  std::size_t each_;  // ranks in a column
  std::size_t columns_;
  double width_;                     // of a column
  std::vector<std::size_t> causes_;  // that are shown, of the fleet's
  double bottom_ = top;
};

}  // namespace

std::string heat_map(const Fleet& fleet) { return HeatMap(fleet).svg(); }

}  // namespace gh
