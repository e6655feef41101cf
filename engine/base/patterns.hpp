// Patterns that users and schemas write, over names: globs and regular expressions. Both take time
// that is bounded whatever is written.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace gh {

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

/// Several such lists, all asked at once.
class PatternLists {
 public:
  /// Throws Error likewise.
  PatternLists(const std::vector<std::vector<std::string>>& lists, std::string_view where);
  /// Positions of the lists of which an expression matches, ascending.
  std::vector<std::size_t> match(std::string_view text) const;

 private:
  struct Together;
  std::shared_ptr<const Together> together_;
  std::vector<Patterns> lists_;
};

}  // namespace gh
