// Small helpers for text that people read: making foreign bytes printable, units, suggestions,
// patterns.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/spans.hpp"

namespace re2 {
class RE2;
}

namespace gh {

/// Valid UTF-8: bad bytes become U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// Valid UTF-8 without control characters: bad bytes become U+FFFD, control characters (terminal
/// escapes too) a space.
std::string printable(std::string_view bytes);

/// Shortened to `width` characters with an ellipsis in the middle; kernel names differ at both
/// ends.
std::string shortened(std::string_view text, std::size_t width);

/// The characters that text takes on a terminal, ASCII and the block and dash characters that we
/// print counted as one each.
std::size_t display_width(std::string_view utf8);

/// "160.3 ms", "12.4 us", "1.92 s": three significant digits or four, in the unit that suits.
std::string duration(Ns ns);
std::string duration(double ns);
/// "64 KiB", "1.3 GiB".
std::string bytes_text(double bytes);
/// "71 %", "4.2 %", "0.3 %".
std::string percent(double fraction);

/// A line of a program's source.
struct SourceLine {
  std::string file;  ///< as it was named; "" where nothing names one
  int line = 0;
};

/// The first "train.py:123" or "train.py(123)" in a text, files of installed packages
/// (site-packages, torch/) aside.
SourceLine source_line(std::string_view text);

/// Sixteen hexadecimal digits of a text (FNV-1a), the same on every machine and in every version.
std::string digest(std::string_view text);

/// Whether it can name a rule or a category: lower-case letters, digits and '-', at least one.
bool is_name(std::string_view word);

/// " (did you mean 'x'?)" with the candidate that is nearest to `word`, else the only one that
/// begins with it, or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

/// Whether `text` matches the pattern, in which * stands for any run and ? for any character; the
/// rest is literal. Linear in text times pattern at worst.
bool glob_match(std::string_view pattern, std::string_view text);

/// A list of regular expressions (RE2's, so time is linear in the text whatever a team writes), any
/// of which may match anywhere in the text, letters of either case.
class Patterns {
 public:
  Patterns() = default;
  /// Throws Error that names the expression and what is wrong with it; `where` says whence it came.
  Patterns(const std::vector<std::string>& expressions, std::string_view where);
  bool match(std::string_view text) const;
  bool empty() const { return compiled_.empty(); }

 private:
  std::vector<std::shared_ptr<re2::RE2>> compiled_;
};

}  // namespace gh
