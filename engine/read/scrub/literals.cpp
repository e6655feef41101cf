// The literals are sorted. Of those with which the rest of a text begins, the longest is the last
// one not above that rest, or one that it begins with itself; each knows the longest of these. So a
// binary search finds all that are at a position, and a hash of the first bytes tells at which
// positions there is anything to search for.
#include "read/scrub/literals.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "read/scrub/characters.hpp"

namespace gh::scrubbing {
namespace {

constexpr int bits_of_hash = 24;  // 2 MiB; few of them are set by a hundred thousand literals
// Of longer ones only the beginning is compared at each position: else a long run of one letter
// would take the square of its length.
constexpr std::size_t most_compared = 1024;

std::size_t hash_of(std::string_view bytes) {
  std::uint32_t all = 0;
  for (const char c : bytes) all = all << 8 | byte(c);
  return all * 0x9E3779B1U >> (32 - bits_of_hash);
}

std::size_t bytes_shared(std::string_view a, std::string_view b) {
  const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(ends.first - a.begin());
}

std::string_view compared(std::string_view text) { return text.substr(0, most_compared); }

// Takes linear time, which no search in the standard library guarantees.
std::size_t find_long(std::string_view text, std::string_view sought, std::size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, sought.data(), sought.size());
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) : text.npos;
}

// Whether the character beside it makes it part of another word or number.
bool goes_on(Reach reach, char inner, char outer) {
  switch (reach) {
    case Reach::as_number: return is_digit(outer);
    case Reach::as_name: return is_letter_or_digit(outer);
    case Reach::as_word: return is_word(inner) && is_word(outer);
    default: return false;
  }
}

// What ended at `from` is replaced, so it is no neighbor.
bool stands_by_itself(const Literal& literal, std::string_view text, std::size_t at,
                      std::size_t from) {
  const std::size_t end = at + literal.text.size();
  return !(at > from && goes_on(literal.reach, text[at], text[at - 1])) &&
         !(end < text.size() && goes_on(literal.reach, text[end - 1], text[end]));
}

}  // namespace

Literals::Literals(std::vector<Literal> all) : all_(std::move(all)), begun_(1 << bits_of_hash) {
  const auto key = [](const Literal& one) { return std::tie(one.text, one.turn); };
  std::stable_sort(all_.begin(), all_.end(),
                   [&](const Literal& a, const Literal& b) { return key(a) < key(b); });
  const auto same = [&](const Literal& a, const Literal& b) { return key(a) == key(b); };
  all_.erase(std::unique(all_.begin(), all_.end(), same), all_.end());
  const Literal* before = nullptr;
  for (Literal& one : all_) {
    // All between one and another that begins with it begin with it too.
    while (before && !one.text.starts_with(compared(before->text))) before = before->within;
    one.within = std::exchange(before, &one);
    least_hashed_ = std::min(least_hashed_, one.text.size());
    begun_[hash_of(std::string_view(one.text).substr(0, most_hashed))] = true;
  }
}

// All with which `rest` begins are this one and those within it.
const Literal* Literals::last_not_above(std::string_view rest) const {
  const auto above =
      std::upper_bound(all_.begin(), all_.end(), rest,
                       [](std::string_view a, const Literal& b) { return a < compared(b.text); });
  return above == all_.begin() ? nullptr : &*(above - 1);
}

bool Literals::may_begin_at(std::string_view text, std::size_t at) const {
  for (std::size_t n = least_hashed_; n <= most_hashed && at + n <= text.size(); ++n)
    if (begun_[hash_of(text.substr(at, n))]) return true;
  return false;
}

void Literals::each_in(std::string_view text, std::optional<std::uint32_t> turn, const Pace& pace,
                       const Use& use) const {
  pace.went(text.size());
  std::map<const Literal*, std::size_t> next;  // where long ones are
  const auto is_whole_at = [&](const Literal& one, std::size_t at) {
    if (one.text.size() <= most_compared) return true;
    const auto [found, is_new] = next.try_emplace(&one, 0);
    if (is_new || found->second < at) {
      found->second = find_long(text, one.text, at);
      pace.went(std::min(found->second, text.size()) - at);
    }
    return found->second == at;
  };
  std::size_t from = 0;
  const auto longest_at = [&](std::size_t at) -> const Literal* {
    const std::string_view rest = compared(text.substr(at));
    const Literal* one = last_not_above(rest);
    if (!one) return nullptr;
    const std::size_t shared = bytes_shared(rest, compared(one->text));
    pace.went(shared);
    for (; one; one = one->within, pace.went(1)) {
      if (compared(one->text).size() <= shared && (!turn || one->turn == *turn) &&
          stands_by_itself(*one, text, at, from) && is_whole_at(*one, at))
        return one;
    }
    return nullptr;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_begin_at(text, at)) continue;
    const Literal* one = longest_at(at);
    if (!one) continue;
    if (!use(*one, at)) return;
    from = at + one->text.size();
    at = from - 1;
  }
}

}  // namespace gh::scrubbing
