#include "report/html_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "report/html_parts.hpp"

namespace gh {
namespace {

double clamped(double fraction) {
  return std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0);
}

}  // namespace

std::vector<StackPart> stack_of(const CauseTimes& causes) {
  const double all = std::max(sum_of(causes), 1.0);
  std::vector<StackPart> parts;
  for (const CauseTime& c : causes)
    if (c.ns > 0) parts.push_back({cause_label(c.cause), activity_of(c.cause), c.ns / all});
  std::stable_sort(parts.begin(), parts.end(), [](const StackPart& x, const StackPart& y) {
    return x.activity != y.activity ? x.activity < y.activity : x.fraction > y.fraction;
  });
  return parts;
}

std::string stack_html(const std::string& label, const std::vector<StackPart>& parts,
                       double scale) {
  std::string said, drawn;
  for (const StackPart& p : parts) {
    const std::string text = fmt::format("{} {}", percent(p.fraction), p.label);
    said += (said.empty() ? "" : ", ") + text;
    // The script takes away what does not fit; it is in the tooltip and in the table.
    drawn += fmt::format("<span class=\"{}\" style=\"width:{:.3f}%\" title=\"{}\">{}</span>",
                         name_of(p.activity), 100 * clamped(p.fraction) * scale, escaped(text),
                         p.fraction * scale >= 0.05 ? "<b>" + escaped(text) + "</b>" : "");
  }
  return fmt::format("<div class=stack role=img aria-label=\"{}: {}\">{}</div>", escaped(label),
                     escaped(said), drawn);
}

std::string stacked_bar(const std::string& label, const std::vector<StackPart>& parts,
                        const std::string& value, double scale) {
  return fmt::format(
      "<div class=stack-row><span class=label>{}</span>{}<span class=value>{}</span></div>\n",
      escaped(label), stack_html(label, parts, scale), escaped(value));
}

std::string legend(const std::vector<StackPart>& parts) {
  std::vector<LegendItem> items;
  for (std::size_t i = 0; i < account_activities; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (std::any_of(parts.begin(), parts.end(),
                    [&](const StackPart& p) { return p.activity == activity && p.fraction > 0; }))
      items.emplace_back(name_of(activity), label_of(activity));
  }
  return legend(items);
}

std::string legend(const std::vector<LegendItem>& items, std::string_view label) {
  std::string out = fmt::format("<ul class=legend aria-label=\"{}\">", label);
  for (const auto& [css_class, meaning] : items)
    out += fmt::format("<li><i class=\"{}\"></i>{}</li>", css_class, meaning);
  return out + "</ul>\n";
}

std::string plain_bar(double fraction, std::string_view css_class,
                      std::optional<std::pair<double, double>> range, std::optional<double> limit) {
  std::string out = fmt::format(
      "<span class=bar aria-hidden=true><span class=\"{}\" style=\"width:{:.2f}%\"></span>",
      css_class, 100 * clamped(fraction));
  if (range)
    out += fmt::format("<i style=\"left:{:.2f}%;width:{:.2f}%\"></i>", 100 * clamped(range->first),
                       100 * (clamped(range->second) - clamped(range->first)));
  if (limit)
    out += fmt::format("<span class=limit style=\"left:{:.2f}%\"></span>", 100 * clamped(*limit));
  return out + "</span>";
}

namespace {

// The place of the plot in its SVG, in the units of its viewBox.
constexpr double plot_left = 70, plot_right = 1000, plot_top = 10, plot_bottom = 110;

// Where steps stand in a strip plot.
class StripScale {
 public:
  StripScale(const std::vector<StripDot>& steps, const StripAxis& axis, Ns most_ns)
      : axis_(axis),
        most_ns_(most_ns),
        single_(steps.size() == 1),
        first_(steps.front().x),
        last_(std::max(steps.back().x, first_ + 1e-9)) {}

  double x(double at) const {
    if (single_) return (plot_left + plot_right) / 2;
    return plot_left + 5 + (plot_right - plot_left - 10) * (at - first_) / (last_ - first_);
  }
  double y(Ns ns) const {
    return plot_bottom -
           (plot_bottom - plot_top) * static_cast<double>(ns) / static_cast<double>(most_ns_);
  }
  std::string text(double at) const {
    return axis_.of == StripAxis::Of::seconds ? fmt::format("{:.3f} s", at)
                                              : fmt::format("{} {:.0f}", axis_.unit.noun, at + 1);
  }

 private:
  const StripAxis& axis_;
  Ns most_ns_;
  bool single_;
  double first_, last_;
};

std::string strip_axes(const StripScale& scale, const std::vector<StripDot>& steps, Ns most_ns,
                       Ns median_ns) {
  std::string out = fmt::format(
      "<line class=axis x1={0} x2={0} y1={1} y2={2} /><line class=axis x1={0} x2={3} y1={2} y2={2} "
      "/>",
      plot_left, plot_top, plot_bottom, plot_right);
  for (const Ns ns : {Ns{0}, most_ns / 2, most_ns})
    out += fmt::format("<text x={} y={:.1f} text-anchor=end>{}</text>", plot_left - 5,
                       scale.y(ns) + 4, duration(ns));
  out +=
      fmt::format("<text x={} y=126>{}</text><text x={} y=126 text-anchor=end>{}</text>", plot_left,
                  scale.text(steps.front().x), plot_right, scale.text(steps.back().x));
  out += fmt::format("<line class=median x1={} x2={} y1={:.1f} y2={:.1f} />", plot_left, plot_right,
                     scale.y(median_ns), scale.y(median_ns));
  return out;
}

// A dot for `each` steps in a row, at the longest of them.
std::string strip_dots(const StripScale& scale, const std::vector<StripDot>& steps,
                       std::size_t each) {
  std::string out;
  for (std::size_t i = 0; i < steps.size(); i += each) {
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(i),
               to = steps.begin() + static_cast<std::ptrdiff_t>(std::min(i + each, steps.size()));
    const StripDot& dot = *std::max_element(
        from, to, [](const StripDot& a, const StripDot& b) { return a.ns < b.ns; });
    out += fmt::format("<circle class=dot cx={:.1f} cy={:.1f} r=2.5><title>{}, {}</title></circle>",
                       scale.x(dot.x), scale.y(dot.ns), duration(dot.ns), scale.text(dot.x));
  }
  return out;
}

}  // namespace

std::string strip_plot(const std::string& label, const std::vector<StripDot>& steps,
                       const StripAxis& axis, Ns most_ns, std::size_t most_dots) {
  if (steps.empty() || most_ns <= 0) return "";
  std::vector<Ns> lengths;
  for (const StripDot& s : steps) lengths.push_back(s.ns);
  const Ns middle = median(lengths);
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  const std::size_t each =
      most_dots == 0 ? steps.size() : (steps.size() + most_dots - 1) / most_dots;
  const std::string said =
      fmt::format("{}: {}, from {} to {}, median {}{}", label,
                  plural(static_cast<std::int64_t>(steps.size()), axis.unit.noun), duration(*least),
                  duration(*most), duration(middle),
                  each > 1 ? fmt::format("; a dot is the longest of {}", each) : "");
  const StripScale scale(steps, axis, most_ns);
  return fmt::format(
             "<figure><figcaption>{0}</figcaption><svg class=strip viewBox=\"0 0 1010 130\" "
             "role=img aria-label=\"{0}\">",
             escaped(said)) +
         strip_axes(scale, steps, most_ns, middle) + strip_dots(scale, steps, each) +
         "</svg></figure>\n";
}

}  // namespace gh
