#include "report/html_parts.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "base/text.hpp"

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

const EmbeddedFile& style_sheet() { return embedded("engine/report/page.css"); }
const EmbeddedFile& script() { return embedded("engine/report/page.js"); }

// Nothing is fetched, and nothing runs but our script. Attributes `style` place bars: they are no
// script, and each has figures of its own.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; style-src-attr "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'",
      script().sha256, style_sheet().sha256);
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
        // A number stays beside it.
        if (out.ends_with(' '))
          out.replace(out.size() - 1, 1, "\u00a0%");
        else
          out += c;
        break;
      default: out += c;
    }
  }
  return out;
}

std::string element(std::string_view tag, std::string_view text, std::string_view attributes) {
  return fmt::format("<{}{}{}>{}</{}>", tag, attributes.empty() ? "" : " ", attributes,
                     escaped(text), tag);
}

std::string remark(std::string_view text) { return element("p", text, "class=faint"); }

std::string severity_html(Severity severity, std::string_view text) {
  const char* name = name_of(severity);
  return fmt::format("<span class=\"severity {}\">{}</span>", name, text.empty() ? name : text);
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

HtmlTable::Cell HtmlTable::Cell::time(Ns ns) { return {duration(ns), static_cast<double>(ns)}; }
HtmlTable::Cell HtmlTable::Cell::time(double ns) { return {duration(ns), ns}; }
HtmlTable::Cell HtmlTable::Cell::share(double fraction) { return {percent(fraction), fraction}; }

void HtmlTable::row(const std::vector<Cell>& cells) {
  ++row_count_;
  rows_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    const char* css_class = columns_[i].number ? " class=number" : cell.wide ? " class=name" : "";
    rows_ += fmt::format(
        "<td{}{}{}>{}</td>", css_class,
        cell.value ? fmt::format(" data-value=\"{:.9g}\"", *cell.value) : "",
        lines_ && i > 0 ? fmt::format(" data-label=\"{}\"", escaped(columns_[i].title)) : "",
        cell.html);
  }
  rows_ += "</tr>\n";
}

std::string HtmlTable::html(std::size_t rows_open) const {
  if (rows_.empty()) return "";
  std::string out = fmt::format(
                        "<div class=wide tabindex=0 role=region aria-label=\"{}\"><table "
                        "class=\"sortable{}\" data-open={}{}>",
                        escaped(caption_), lines_ ? " lines" : "", rows_open,
                        kind_ ? fmt::format(" data-find=\"{}\"", escaped(*kind_)) : "") +
                    element("caption", caption_) + "<thead><tr>";
  for (const Column& c : columns_)
    out += element("th", c.title, c.number ? "scope=col class=number" : "scope=col");
  return out + "</tr></thead><tbody>\n" + rows_ + "</tbody></table></div>\n";
}

std::string folded(std::string_view summary, const std::string& html) {
  if (html.empty()) return "";
  return "<details><summary>" + escaped(summary) + "</summary>" + html + "</details>\n";
}

std::string page_footer() {
  return fmt::format(
      "<footer>Made by gh-advise {}; nothing on this page is fetched from anywhere.</footer>\n",
      GH_ADVISE_VERSION);
}

std::string html_page(std::string_view title, const std::string& body, const std::string& data) {
  std::string safe;  // within a script element no tag may begin
  for (const char c : data) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return fmt::format(
      "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n<meta name=viewport "
      "content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=Content-Security-Policy content=\"{}\">\n"
      "<meta name=generator content=\"gh-advise "
      "{}\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}{}<div id=tip "
      "role=tooltip hidden></div>\n"
      "<noscript><p>Timelines need a browser that runs scripts; the tables say the "
      "same.</p></noscript>\n<script type=\"application/json\" "
      "id=data>{}</script>\n<script>{}</script>\n</body>\n</html>\n",
      policy(), GH_ADVISE_VERSION, escaped(title), style_sheet().text, patterns, body, safe,
      script().text);
}

}  // namespace gh
