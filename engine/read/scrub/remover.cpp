#include "read/scrub/remover.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "read/scrub/characters.hpp"
#include "read/scrub/unescape.hpp"

namespace gh::scrubbing {
namespace {

// An expression tracks every position in what it searches for. For a long run of one letter that is
// the square of its length. Few texts could contain longer values.
constexpr std::size_t most_bytes_in_expression = 1024;

bool is_by_hand(const Sought& sought) {
  return sought.reach == Reach::as_name || sought.reach == Reach::as_number;
}

bool is_long(const Sought& sought) {
  return sought.text.size() > most_bytes_in_expression && !is_by_hand(sought);
}

// Whether such a character next to a name or number makes it part of another.
bool goes_on(Reach reach, char beside) {
  return reach == Reach::as_number ? is_digit(beside) : is_letter_or_digit(beside);
}

// Takes linear time, which no search in the standard library guarantees.
std::size_t find_long(std::string_view text, const std::string& sought, std::size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, sought.data(), sought.size());
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) : text.npos;
}

std::unique_ptr<re2::RE2> compiled(const std::string& expression) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  options.set_longest_match(true);
  options.set_max_mem(512 << 20);
  auto made = std::make_unique<re2::RE2>(expression, options);
  if (!made->ok()) throw Error("the report's environment is too large to search for");
  return made;
}

bool found(const re2::RE2& expression, std::string_view text) {
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

}  // namespace

Remover::~Remover() = default;

// Replaces home folders before others, and folders before what is in them.
Remover::Remover(const SoughtList& sought, const Deadline& deadline) : pace_(deadline) {
  for (const Sought& s : sought) {
    if (!is_long(s)) continue;
    long_.push_back(s);
    if (s.any_case) long_.back().text = in_lower_case(s.text);
  }
  for (const char* way : {"~", ".", replacement}) {
    for (const bool any_case : {false, true}) {
      add_group(sought, way, Reach::anywhere, any_case);
      add_group(sought, way, Reach::as_word, any_case);
    }
  }
  add_names(sought);
}

void Remover::add_group(const SoughtList& sought, const char* instead, Reach reach, bool any_case) {
  std::string all;
  for (const Sought& s : sought) {
    if (s.instead != std::string_view(instead) || s.reach != reach || s.any_case != any_case ||
        is_long(s)) {
      continue;
    }
    if (!all.empty()) all += '|';
    const bool by_itself = reach == Reach::as_word;
    if (by_itself && is_word(s.text.front())) all += "\\b";
    all += re2::RE2::QuoteMeta(s.text);
    if (by_itself && is_word(s.text.back())) all += "\\b";
  }
  if (!all.empty()) groups_.push_back({compiled((any_case ? "(?i)" : "") + all), instead});
}

void Remover::add_names(const SoughtList& sought) {
  std::string names, numbers;
  for (const Sought& s : sought) {
    if (!is_by_hand(s)) continue;
    names_.push_back(s);
    names_.back().text = in_lower_case(s.text);
    (s.reach == Reach::as_number ? numbers : names) += '|' + re2::RE2::QuoteMeta(s.text);
  }
  if (names_.empty()) return;
  std::stable_sort(names_.begin(), names_.end(),
                   [](const Sought& a, const Sought& b) { return a.text.size() > b.text.size(); });
  std::string all;
  for (const auto& [these, not_beside] :
       {std::pair{&names, "0-9A-Za-z"}, std::pair{&numbers, "0-9"}}) {
    if (these->empty()) continue;
    all += fmt::format("{}(?:^|[^{}])(?:{})(?:$|[^{}])", all.empty() ? "" : "|", not_beside,
                       these->substr(1), not_beside);
  }
  any_name_ = compiled("(?i)" + all);
}

bool Remover::remove_from(std::string& text) const {
  pace_.went(text.size());
  bool changed = remove_plain(text);
  std::string meant = text;
  for (int i = 0; i < most_escapings && unescape(meant); ++i) {
    if (!finds_in(meant)) continue;
    remove_plain(meant);
    text = meant;
    changed = true;
  }
  return changed;
}

bool Remover::remove_plain(std::string& text) const {
  bool changed = remove_long(text);
  for (const Group& group : groups_) {
    changed = re2::RE2::GlobalReplace(&text, *group.expression, group.instead) > 0 || changed;
    pace_.went(text.size());
  }
  return remove_names(text) || changed;
}

bool Remover::remove_long(std::string& text) const {
  if (long_.empty() || text.size() <= most_bytes_in_expression) return false;
  bool changed = false;
  std::string lower = in_lower_case(text);
  for (const Sought& sought : long_) {
    std::string out;
    std::size_t from = 0;
    const std::string& searched = sought.any_case ? lower : text;
    for (std::size_t at; (at = find_long(searched, sought.text, from)) != text.npos;) {
      out.append(text, from, at - from) += sought.instead;
      from = at + sought.text.size();
    }
    pace_.went(text.size());
    if (from == 0) continue;
    text = out.append(text, from);
    lower = in_lower_case(text);
    changed = true;
  }
  return changed;
}

// Done by hand, because two adjacent names may share the character between them. Longest first, so
// that a full host name goes before its first part.
bool Remover::remove_names(std::string& text) const {
  if (!any_name_ || !found(*any_name_, text)) return false;
  std::string lower = in_lower_case(text);
  for (const Sought& name : names_) {
    std::string out;
    std::size_t from = 0;
    for (std::size_t at = 0; (at = lower.find(name.text, at)) != lower.npos;) {
      const std::size_t end = at + name.text.size();
      if ((at > from && goes_on(name.reach, lower[at - 1])) ||
          (end < lower.size() && goes_on(name.reach, lower[end]))) {
        ++at;
        continue;
      }
      out.append(text, from, at - from) += replacement;
      from = at = end;
    }
    pace_.went(text.size());
    if (from == 0) continue;
    text = out.append(text, from);
    lower = in_lower_case(text);
  }
  return true;
}

bool Remover::finds_in(std::string_view text) const {
  pace_.went(text.size());
  if (!long_.empty() && text.size() > most_bytes_in_expression) {
    const std::string lower = in_lower_case(text);
    for (const Sought& sought : long_) {
      const std::string_view searched = sought.any_case ? std::string_view(lower) : text;
      if (find_long(searched, sought.text, 0) != text.npos) return true;
      pace_.went(text.size());
    }
  }
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return found(*group.expression, text); }) ||
         (any_name_ && found(*any_name_, text));
}

}  // namespace gh::scrubbing
