#include "base/patterns.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/glob_steps.hpp"
#include "base/text.hpp"

namespace gh {

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t steps = 0;
  return glob_match(pattern, text, steps);
}

bool glob_match(std::string_view pattern, std::string_view text, std::size_t& steps) {
  std::size_t p = 0, t = 0;
  // The last star, and where the text continues after what it matched. Only the last star ever
  // needs to match more.
  std::size_t star = std::string_view::npos, resume = 0;
  for (; t < text.size(); ++steps) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

re2::RE2::Options either_case() {
  re2::RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  return options;
}

}  // namespace

Patterns::Patterns(const std::vector<std::string>& expressions, std::string_view where) {
  const re2::RE2::Options options = either_case();
  std::string any;  // one expression for all, so that the text is scanned once
  for (const std::string& e : expressions) {
    compiled_.push_back(std::make_shared<re2::RE2>(e, options));
    if (!compiled_.back()->ok())
      throw Error(fmt::format("{}: '{}' is not a regular expression: {}", where, printable(e),
                              compiled_.back()->error()));
    any += fmt::format("{}(?:{})", any.empty() ? "" : "|", e);
  }
  if (compiled_.size() < 2) return;
  // Joined they may exceed RE2's memory limit; then try them one by one.
  if (auto joined = std::make_shared<re2::RE2>(any, options); joined->ok())
    compiled_ = {std::move(joined)};
}

bool Patterns::match(std::string_view text) const {
  return std::any_of(compiled_.begin(), compiled_.end(), [&](const auto& re) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re);
  });
}

CapturingPatterns::CapturingPatterns(const std::vector<std::string>& expressions,
                                     std::string_view where) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  for (const std::string& e : expressions) {
    compiled_.push_back(std::make_shared<re2::RE2>(e, options));
    if (!compiled_.back()->ok())
      throw Error(fmt::format("{}: '{}' is not a regular expression: {}", where, printable(e),
                              compiled_.back()->error()));
    if (compiled_.back()->NumberOfCapturingGroups() != 1)
      throw Error(fmt::format("{}: '{}' needs one pair of parentheses, around the part that counts",
                              where, printable(e)));
  }
}

std::string CapturingPatterns::captured(std::string_view text) const {
  std::string held;
  for (const auto& re : compiled_)
    if (re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re, &held)) return held;
  return "";
}

void CapturingPatterns::put_first(const CapturingPatterns& others) {
  compiled_.insert(compiled_.begin(), others.compiled_.begin(), others.compiled_.end());
}

// All expressions in one automaton, and the list that each belongs to.
struct PatternLists::Together {
  re2::RE2::Set set;
  std::vector<std::size_t> list_of;
};

PatternLists::PatternLists(const std::vector<std::vector<std::string>>& lists,
                           std::string_view where) {
  constexpr std::int64_t most_memory_bytes = 64 << 20;
  re2::RE2::Options options = either_case();
  options.set_max_mem(most_memory_bytes);
  auto together =
      std::make_shared<Together>(Together{re2::RE2::Set(options, re2::RE2::UNANCHORED), {}});
  for (const std::vector<std::string>& list : lists) {
    lists_.emplace_back(list, where);
    for (const std::string& e : list) {
      together->set.Add(e, nullptr);
      together->list_of.push_back(lists_.size() - 1);
    }
  }
  if (together->set.Compile()) together_ = std::move(together);
}

std::vector<std::size_t> PatternLists::match(std::string_view text) const {
  std::vector<std::size_t> found;
  std::vector<int> expressions;
  re2::RE2::Set::ErrorInfo problem{re2::RE2::Set::kNoError};
  if (together_ &&
      (together_->set.Match(re2::StringPiece(text.data(), text.size()), &expressions, &problem) ||
       problem.kind == re2::RE2::Set::kNoError)) {
    for (const int e : expressions)
      found.push_back(together_->list_of[static_cast<std::size_t>(e)]);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  // The automaton needs too much memory for this text, so try one list after the other.
  for (std::size_t i = 0; i < lists_.size(); ++i)
    if (lists_[i].match(text)) found.push_back(i);
  return found;
}

}  // namespace gh
