#include "report/html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/embedded.hpp"
#include "report/layout.hpp"

namespace gh {
namespace {

// What an SVG fills idle time with: the same as the style sheet's gradients.
constexpr const char* patterns =
    R"svg(<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs>
<pattern id="pattern-idle-input" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="8" height="8" style="fill:var(--page)"/><rect width="4" height="8" style="fill:var(--idle)"/></pattern>
<pattern id="pattern-idle-sync" width="7" height="8" patternUnits="userSpaceOnUse"><rect width="7" height="8" style="fill:var(--page)"/><rect width="3" height="8" style="fill:var(--idle)"/></pattern>
<pattern id="pattern-idle-launch" width="8" height="6" patternUnits="userSpaceOnUse"><rect width="8" height="6" style="fill:var(--page)"/><rect width="8" height="2" style="fill:var(--idle)"/></pattern>
<pattern id="pattern-idle-other" width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="8" height="8" style="fill:var(--page)"/><rect width="2" height="8" style="fill:var(--idle)"/></pattern>
<pattern id="pattern-communication" width="7" height="7" patternUnits="userSpaceOnUse"><rect width="7" height="7" style="fill:var(--communication)"/><circle cx="3.5" cy="3.5" r="1" style="fill:var(--text)"/></pattern>
</defs></svg>
)svg";

double clamped(double fraction) {
  return std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0);
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '%':
        out.ends_with(' ') ? out.replace(out.size() - 1, 1, "\u00a0%") : out += c;
        break;  // a number stays beside it
      default: out += c;
    }
  }
  return out;
}

std::string element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return fmt::format("<{}{}{}>{}</{}>", tag, attributes.empty() ? "" : " ", attributes,
                     escaped(text), tag);
}

std::string section(std::string_view id, std::string_view title, const std::string& html) {
  if (html.empty()) return "";
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 "
      "id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
      id, escaped(title), html);
}

std::string bullets(const std::vector<std::string>& items, std::string_view css_class) {
  if (items.empty()) return "";
  std::string out = fmt::format("<ul class=\"{}\">", css_class);
  for (const std::string& item : items) out += element("li", item);
  return out + "</ul>\n";
}

void HtmlTable::row(const std::vector<Cell>& cells) {
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    rows_ +=
        fmt::format("<td{}{}>{}</td>",
                    columns_[i].number ? " class=number"
                    : cells[i].wide    ? " class=name"
                                       : "",
                    cells[i].value ? fmt::format(" data-value=\"{:.9g}\"", *cells[i].value) : "",
                    cells[i].html);
  rows_ += "</tr>\n";
}

std::string HtmlTable::html(std::size_t rows_open) const {
  if (rows_.empty()) return "";
  std::string out = fmt::format(
                        "<div class=wide tabindex=0 role=region aria-label=\"{}\"><table "
                        "class=sortable data-open={}>",
                        escaped(caption_), rows_open) +
                    element("caption", caption_) + "<thead><tr>";
  for (const Column& c : columns_)
    out += element("th", c.title, c.number ? "scope=col class=number" : "scope=col");
  return out + "</tr></thead><tbody>\n" + rows_ + "</tbody></table></div>\n";
}

std::string stacked_bar(const std::string& label, const std::vector<StackPart>& parts,
                        const std::string& value, double scale) {
  std::string said, drawn;
  for (const StackPart& p : parts) {
    const std::string text = fmt::format("{} {}", percent(p.fraction), p.label);
    said += (said.empty() ? "" : ", ") + text;
    // The script takes away what does not fit; it is in the tooltip and in the table.
    drawn += fmt::format("<span class=\"{}\" style=\"width:{:.3f}%\" title=\"{}\">{}</span>",
                         name_of(p.activity), 100 * clamped(p.fraction) * scale, escaped(text),
                         p.fraction * scale >= 0.05 ? "<b>" + escaped(text) + "</b>" : "");
  }
  return fmt::format(
      "<div class=stack-row><span class=label>{0}</span><div class=stack role=img "
      "aria-label=\"{0}: {1}\">{2}</div><span class=value>{3}</span></div>\n",
      escaped(label), escaped(said), drawn, escaped(value));
}

std::string legend(const std::vector<StackPart>& parts) {
  std::string out = "<ul class=legend aria-label=\"Colours\">";
  for (std::size_t i = 0; i < account_activities; ++i) {
    const auto activity = static_cast<Activity>(i);
    if (std::any_of(parts.begin(), parts.end(),
                    [&](const StackPart& p) { return p.activity == activity && p.fraction > 0; }))
      out += fmt::format("<li><i class=\"{}\"></i>{}</li>", name_of(activity), label_of(activity));
  }
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

std::string strip_plot(const std::string& label, const std::vector<StripDot>& steps, StripAxis axis,
                       Ns most_ns, std::size_t most_dots) {
  if (steps.empty() || most_ns <= 0) return "";
  constexpr double left = 70, right = 1000, top = 10, bottom = 110;
  const double first = steps.front().x, last = std::max(steps.back().x, first + 1e-9);
  const auto x = [&](double at) {
    return steps.size() == 1 ? (left + right) / 2
                             : left + 5 + (right - left - 10) * (at - first) / (last - first);
  };
  const auto y = [&](Ns ns) {
    return bottom - (bottom - top) * static_cast<double>(ns) / static_cast<double>(most_ns);
  };
  const auto at = [&](double v) {
    return axis == StripAxis::seconds ? fmt::format("{:.3f} s", v)
                                      : fmt::format("step {:.0f}", v + 1);
  };
  std::vector<Ns> lengths;
  for (const StripDot& s : steps) lengths.push_back(s.ns);
  const Ns middle = median(lengths);
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  const std::size_t each =
      most_dots == 0 ? steps.size() : (steps.size() + most_dots - 1) / most_dots;
  const std::string said =
      fmt::format("{}: {} steps, from {} to {}, {} in the median{}", label, steps.size(),
                  duration(*least), duration(*most), duration(middle),
                  each > 1 ? fmt::format("; a dot is the longest of {}", each) : "");
  std::string out = fmt::format(
      "<figure><figcaption>{0}</figcaption><svg class=strip viewBox=\"0 0 1010 130\" role=img "
      "aria-label=\"{0}\">",
      escaped(said));
  out += fmt::format(
      "<line class=axis x1={0} x2={0} y1={1} y2={2} /><line class=axis x1={0} x2={3} y1={2} y2={2} "
      "/>",
      left, top, bottom, right);
  for (const Ns ns : {Ns{0}, most_ns / 2, most_ns})
    out += fmt::format("<text x={} y={:.1f} text-anchor=end>{}</text>", left - 5, y(ns) + 4,
                       duration(ns));
  out += fmt::format("<text x={} y=126>{}</text><text x={} y=126 text-anchor=end>{}</text>", left,
                     at(first), right, at(steps.back().x));
  out += fmt::format("<line class=median x1={} x2={} y1={:.1f} y2={:.1f} />", left, right,
                     y(middle), y(middle));
  for (std::size_t i = 0; i < steps.size(); i += each) {
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(i),
               to = steps.begin() + static_cast<std::ptrdiff_t>(std::min(i + each, steps.size()));
    const StripDot& dot = *std::max_element(
        from, to, [](const StripDot& a, const StripDot& b) { return a.ns < b.ns; });
    out += fmt::format("<circle class=dot cx={:.1f} cy={:.1f} r=2.5><title>{}, {}</title></circle>",
                       x(dot.x), y(dot.ns), duration(dot.ns), at(dot.x));
  }
  return out + "</svg></figure>\n";
}

std::string html_page(std::string_view title, const std::string& body, const std::string& data) {
  std::string safe;  // within a script element no tag may begin
  for (const char c : data) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return fmt::format(
      "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=viewport "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=generator content=\"gh-advise "
      "{}\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}{}<div id=tip "
      "role=tooltip hidden></div>\n"
      "<noscript><p>Timelines need a browser that runs scripts; the tables say the "
      "same.</p></noscript>\n<script type=\"application/json\" "
      "id=data>{}</script>\n<script>\n{}</script>\n</body>\n</html>\n",
      GH_ADVISE_VERSION, escaped(title), embedded_file("engine/report/page.css"), patterns, body,
      safe, embedded_file("engine/report/page.js"));
}

}  // namespace gh
