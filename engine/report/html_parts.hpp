// The pieces that HTML pages are made of. Whatever is text is escaped here; what is called `html`
// has been.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spans.hpp"
#include "rules/finding.hpp"

namespace gh {

/// Foreign text, for an element or an attribute in double quotes.
std::string escaped(std::string_view text);

/// An element with text in it: element("p", "1 < 2", "class=faint").
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");

/// A paragraph of what is good to know beside.
std::string remark(std::string_view text);

/// A severity in its colour; `text` stands for it where it is given.
std::string severity_html(Severity severity, std::string_view text = "");

/// "<section id=… aria-labelledby=…><h2>…</h2>…</section>"; "" where there is nothing in it.
std::string section(std::string_view id, std::string_view title, const std::string& html);

/// A list of sentences; "" of none.
std::string bullets(const std::vector<std::string>& items, std::string_view css_class = "");

/// A table that can be sorted by each of its columns.
class HtmlTable {
 public:
  struct Column {
    std::string title;
    bool number = false;
  };
  struct Cell {
    std::string html;
    std::optional<double> value;  ///< to sort by, instead of the text
    bool wide = false;            ///< wraps
    Cell(std::string_view text) : html(escaped(text)), wide(text.size() > 40) {}
    Cell(const std::string& text) : Cell(std::string_view(text)) {}
    Cell(const char* text) : Cell(std::string_view(text)) {}
    Cell(std::string_view text, double sort_by) : html(escaped(text)), value(sort_by) {}
    static Cell raw(std::string made, std::optional<double> sort_by = std::nullopt) {
      Cell cell("");
      cell.html = std::move(made);
      cell.value = sort_by;
      return cell;
    }
    static Cell time(Ns ns);             ///< "12.3 ms"
    static Cell time(double ns);         ///< "12.3 ms"
    static Cell share(double fraction);  ///< "8 %"
  };
  HtmlTable(std::string caption, std::vector<Column> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}
  void row(const std::vector<Cell>& cells);
  /// What a row is, for the page's search, which then hides those that do not match: "kernel"; ""
  /// of rows that it does not count.
  void searched_as(std::string_view kind) { kind_ = kind; }
  /// On a narrow screen each row becomes a block of lines, a line a column: for tables of which
  /// every column matters. Called before the first row.
  void becomes_lines() { lines_ = true; }
  std::size_t rows() const { return row_count_; }
  bool empty() const { return rows_.empty(); }
  /// "" without rows. Beyond `rows_open` rows the rest is folded, until asked for.
  std::string html(std::size_t rows_open = 1'000'000) const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  std::string rows_;
  std::size_t row_count_ = 0;
  std::optional<std::string> kind_;
  bool lines_ = false;
};

/// What is folded behind a line that says what it is; "" of nothing.
std::string folded(std::string_view summary, const std::string& html);

/// What a page ends with.
std::string page_footer();

/// A whole page, in which nothing is fetched: the style sheet, the script, and `data` (JSON) for
/// it.
std::string html_page(std::string_view title, const std::string& body, const std::string& data);

}  // namespace gh
