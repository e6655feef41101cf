// Patterns over names, written by users and in schemas: globs and regular expressions. Matching
// takes bounded time for any pattern.
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

/// Whether `text` matches the pattern. * matches any run of characters, ? matches one, everything
/// else is literal. At worst it takes text length times pattern length.
bool glob_match(std::string_view pattern, std::string_view text);

/// A list of regular expressions that match anywhere in the text, ignoring case. They use RE2, so
/// matching is linear in the text for any expression.
class Patterns {
 public:
  Patterns() = default;
  /// Throws Error that names the bad expression and what is wrong with it; `where` says where the
  /// expression comes from.
  Patterns(const std::vector<std::string>& expressions, std::string_view where);
  bool match(std::string_view text) const;
  bool empty() const { return compiled_.empty(); }

 private:
  std::vector<std::shared_ptr<re2::RE2>> compiled_;
};

/// A list of expressions like those, but they respect case, and each has one group.
class CapturingPatterns {
 public:
  CapturingPatterns() = default;
  /// Throws Error like Patterns, and for an expression without exactly one group.
  CapturingPatterns(const std::vector<std::string>& expressions, std::string_view where);
  /// What the group of the first matching expression holds; "" if none matches.
  std::string captured(std::string_view text) const;
  /// Tries the expressions of another list first.
  void put_first(const CapturingPatterns& others);

 private:
  std::vector<std::shared_ptr<re2::RE2>> compiled_;
};

/// Several such lists, matched together.
class PatternLists {
 public:
  /// Throws Error like Patterns.
  PatternLists(const std::vector<std::vector<std::string>>& lists, std::string_view where);
  /// Positions of the lists that have a matching expression, ascending.
  std::vector<std::size_t> match(std::string_view text) const;

 private:
  struct Together;
  std::shared_ptr<const Together> together_;
  std::vector<Patterns> lists_;
};

}  // namespace gh
