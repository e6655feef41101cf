#include "base/patterns.hpp"

#include <fmt/format.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <mutex>
#include <utility>

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

Error wrong(std::string_view where, const std::string& expression, const std::string& why) {
  return Error(
      fmt::format("{}: '{}' is not a regular expression: {}", where, printable(expression), why));
}

}  // namespace

struct Patterns::Expressions {
  std::vector<std::string> texts;
  std::once_flag once;
  std::vector<std::unique_ptr<re2::RE2>> compiled;

  // Throws for the first that is wrong.
  void compile_each(std::string_view where) {
    for (const std::string& e : texts) {
      compiled.push_back(std::make_unique<re2::RE2>(e, either_case()));
      if (!compiled.back()->ok()) throw wrong(where, e, compiled.back()->error());
    }
  }

  // One expression for all, so that the text is scanned once.
  void compile() {
    std::string any;
    for (const std::string& e : texts) any += fmt::format("{}(?:{})", any.empty() ? "" : "|", e);
    compiled.push_back(std::make_unique<re2::RE2>(any, either_case()));
    if (compiled.back()->ok()) return;
    // Joined they may exceed RE2's memory limit; then try them one by one.
    compiled.clear();
    compile_each("schemas");
  }
};

Patterns::Patterns(std::vector<std::string> expressions) {
  if (expressions.empty()) return;
  expressions_ = std::make_shared<Expressions>();
  expressions_->texts = std::move(expressions);
}

Patterns::Patterns(const std::vector<std::string>& expressions, std::string_view where)
    : Patterns(expressions) {
  if (expressions_) Expressions{expressions, {}, {}}.compile_each(where);
}

bool Patterns::match(std::string_view text) const {
  if (!expressions_) return false;
  std::call_once(expressions_->once, [&] { expressions_->compile(); });
  return std::any_of(
      expressions_->compiled.begin(), expressions_->compiled.end(), [&](const auto& re) {
        return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re);
      });
}

CapturingPatterns::CapturingPatterns(const std::vector<std::string>& expressions,
                                     std::string_view where) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  for (const std::string& e : expressions) {
    compiled_.push_back(std::make_shared<re2::RE2>(e, options));
    if (!compiled_.back()->ok()) throw wrong(where, e, compiled_.back()->error());
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

struct PatternLists::Together {
  std::vector<std::vector<std::string>> lists;
  std::once_flag once;
  std::unique_ptr<re2::RE2::Set> set;  // all expressions in one automaton
  std::vector<std::size_t> list_of;    // by expression of the set

  void compile() {
    constexpr std::int64_t most_memory_bytes = 64 << 20;
    re2::RE2::Options options = either_case();
    options.set_max_mem(most_memory_bytes);
    set = std::make_unique<re2::RE2::Set>(options, re2::RE2::UNANCHORED);
    for (std::size_t i = 0; i < lists.size(); ++i)
      for (const std::string& e : lists[i]) {
        set->Add(e, nullptr);
        list_of.push_back(i);
      }
    if (!set->Compile()) set.reset();
  }
};

PatternLists::PatternLists(std::vector<std::vector<std::string>> lists)
    : together_(std::make_shared<Together>()) {
  together_->lists = std::move(lists);
}

std::vector<std::size_t> PatternLists::match(std::string_view text) const {
  if (!together_) return {};
  std::call_once(together_->once, [&] { together_->compile(); });
  std::vector<std::size_t> found;
  std::vector<int> expressions;
  re2::RE2::Set::ErrorInfo problem{re2::RE2::Set::kNoError};
  if (together_->set &&
      (together_->set->Match(re2::StringPiece(text.data(), text.size()), &expressions, &problem) ||
       problem.kind == re2::RE2::Set::kNoError)) {
    for (const int e : expressions)
      found.push_back(together_->list_of[static_cast<std::size_t>(e)]);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }
  // The automaton needs too much memory for this text, so try one list after the other.
  for (std::size_t i = 0; i < together_->lists.size(); ++i)
    if (Patterns(together_->lists[i]).match(text)) found.push_back(i);
  return found;
}

}  // namespace gh
