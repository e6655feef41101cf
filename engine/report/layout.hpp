// How text for people is laid out: colors, columns, lines that wrap, the account's causes in
// words.
#pragma once
#include <fmt/format.h>

#include <string>

#include "base/text.hpp"
#include "rules/finding.hpp"

namespace gh {

/// How much the text says: --quiet, what fits on a screen, or --verbose.
enum class Amount { quiet, brief, full };

/// How text is to look.
struct TextStyle {
  bool color = false;
  bool unicode = true;      ///< bars of blocks rather than of #
  std::size_t width = 100;  ///< characters in a line
  std::size_t height = 50;  ///< lines of a screen
  Amount amount = Amount::brief;
};

/// Colors text if the style asks for it.
class Paint {
 public:
  explicit Paint(const TextStyle& style) : on_(style.color) {}
  std::string bold(const std::string& s) const { return wrap("1", s); }
  std::string faint(const std::string& s) const { return wrap("2", s); }
  std::string severity(Severity s, const std::string& text) const {
    return wrap(s == Severity::error ? "1;31" : s == Severity::warning ? "1;33" : "1;36", text);
  }
  std::string good(const std::string& s) const { return wrap("32", s); }
  std::string verdict(bool passes, const std::string& s) const {
    return wrap(passes ? "1;32" : "1;31", s);
  }

 private:
  std::string wrap(const char* code, const std::string& s) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : s;
  }
  bool on_;
};

/// Filled with spaces to `width` characters.
std::string padded(const std::string& s, std::size_t width);

/// Words in lines of at most `width`, every line but the first indented; a number stays beside its
/// unit.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent);

/// Foreign text for a Markdown document: nothing in it becomes markup or a link, ends a table's
/// cell or mentions a user or an issue.
std::string markdown_text(const std::string& text);

/// Foreign text as a value of a CSV file: quoted, and spreadsheets do not take it for a formula.
std::string csv_text(const std::string& text);

}  // namespace gh
