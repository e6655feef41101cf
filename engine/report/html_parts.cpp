#include "report/html_parts.hpp"

#include <fmt/format.h>

#include "base/embedded.hpp"
#include "base/templates.hpp"
#include "base/text.hpp"

namespace gh {
namespace {

// Nothing is fetched, and nothing runs but our script. Attributes `style` place bars: they are no
// script, and each has figures of its own.
std::string policy() {
  return fmt::format(
      "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; style-src-attr "
      "'unsafe-inline'; base-uri 'none'; form-action 'none'",
      embedded("engine/report/page.js").sha256, embedded("engine/report/page.css").sha256);
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
  return filled("page.html", {{"policy", policy()},
                              {"version", GH_ADVISE_VERSION},
                              {"title", escaped(title)},
                              {"body", body},
                              {"data", safe}});
}

}  // namespace gh
