#include "base/patterns.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

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
  // The last star, and where the text goes on that it does not take: only that one is ever widened.
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

Patterns::Patterns(const std::vector<std::string>& expressions, std::string_view where) {
  re2::RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  std::string any;  // one expression for all of them: a text is gone through once
  for (const std::string& e : expressions) {
    compiled_.push_back(std::make_shared<re2::RE2>(e, options));
    if (!compiled_.back()->ok())
      throw Error(fmt::format("{}: '{}' is not a regular expression: {}", where, printable(e),
                              compiled_.back()->error()));
    any += fmt::format("{}(?:{})", any.empty() ? "" : "|", e);
  }
  if (compiled_.size() < 2) return;
  // Together they may exceed RE2's memory: then each is asked by itself.
  if (auto joined = std::make_shared<re2::RE2>(any, options); joined->ok())
    compiled_ = {std::move(joined)};
}

bool Patterns::match(std::string_view text) const {
  return std::any_of(compiled_.begin(), compiled_.end(), [&](const auto& re) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re);
  });
}

}  // namespace gh
