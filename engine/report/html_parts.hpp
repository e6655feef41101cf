// The pieces that HTML pages are made of. Whatever is text is escaped here; what is called `html`
// has been.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/timeline.hpp"

namespace gh {

/// Foreign text, for an element or an attribute in double quotes.
std::string escaped(std::string_view text);

/// An element with text in it: element("p", "1 < 2", "class=faint").
std::string element(std::string_view tag, std::string_view text, std::string_view attributes = "");

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
    static Cell raw(std::string made) {
      Cell cell("");
      cell.html = std::move(made);
      return cell;
    }
    static Cell raw(std::string made, double sort_by) {
      Cell cell("", sort_by);
      cell.html = std::move(made);
      return cell;
    }
  };
  HtmlTable(std::string caption, std::vector<Column> columns)
      : caption_(std::move(caption)), columns_(std::move(columns)) {}
  void row(const std::vector<Cell>& cells);
  bool empty() const { return rows_.empty(); }
  /// "" without rows. Beyond `rows_open` rows the rest is folded, until asked for.
  std::string html(std::size_t rows_open = 1'000'000) const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  std::string rows_;
};

/// A part of a stacked bar.
struct StackPart {
  std::string label;
  Activity activity;
  double fraction;
};

/// A bar in which parts stand side by side, between what it is of and what it comes to. `scale` is
/// the bar's length, 0 to 1.
std::string stacked_bar(const std::string& label, const std::vector<StackPart>& parts,
                        const std::string& value, double scale = 1);

/// What the colours and patterns of an account mean, of those that occur.
std::string legend(const std::vector<StackPart>& parts);

/// A bar of one colour, and where given the stretch in which its end is expected, and a limit. All
/// 0 to 1.
std::string plain_bar(double fraction, std::string_view css_class,
                      std::optional<std::pair<double, double>> range = std::nullopt,
                      std::optional<double> limit = std::nullopt);

/// Steps drawn as dots over when they began, or over their number, with their median. Where there
/// are more than `most_dots`, each dot is the longest of several in a row. The axis goes to
/// `most_ns`. Times are in nanoseconds.
enum class StripAxis { seconds, order };
struct StripDot {
  double x = 0;
  Ns ns = 0;
};
std::string strip_plot(const std::string& label, const std::vector<StripDot>& steps, StripAxis axis,
                       Ns most_ns, std::size_t most_dots);

/// A whole page, in which nothing is fetched: the style sheet, the script, and `data` (JSON) for
/// it.
std::string html_page(std::string_view title, const std::string& body, const std::string& data);

}  // namespace gh
