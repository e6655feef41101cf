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
  /// A user's expressions: `where` says where they come from. Throws Error that names the bad
  /// expression and what is wrong with it.
  Patterns(const std::vector<std::string>& expressions, std::string_view where);
  /// The program's own, which are compiled when they are first asked about a text: that takes
  /// longer than all matching, and no report needs more than a part of them.
  explicit Patterns(std::vector<std::string> expressions);
  bool match(std::string_view text) const;
  bool empty() const { return !expressions_; }

 private:
  struct Expressions;
  std::shared_ptr<Expressions> expressions_;  // null if there are none; copies share them
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

/// Several such lists, matched together: the text is scanned once, however many they are. They too
/// are compiled when first asked, so check a user's with Patterns.
class PatternLists {
 public:
  PatternLists() = default;
  explicit PatternLists(std::vector<std::vector<std::string>> lists);
  /// Positions of the lists that have a matching expression, ascending.
  std::vector<std::size_t> match(std::string_view text) const;

 private:
  struct Together;
  std::shared_ptr<Together> together_;  // null if there are no lists; copies share it
};

}  // namespace gh
