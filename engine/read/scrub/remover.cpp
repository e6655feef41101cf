#include "read/scrub/remover.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "read/scrub/unescape.hpp"

namespace gh::scrubbing {
namespace {

// Longer ones go before all others, which could be parts of them.
constexpr std::size_t most_usual_bytes = 1024;

bool is_name(const Sought& sought) {
  return sought.reach == Reach::as_name || sought.reach == Reach::as_number;
}
bool is_long(const Sought& sought) {
  return sought.text.size() > most_usual_bytes && !is_name(sought);
}
bool ignores_case(const Sought& sought) { return sought.any_case || is_name(sought); }

// Home folders go before others, and folders before what is in them. Names and numbers are last,
// and the longest of them first: a full host name before its first part.
using Turn = std::array<std::size_t, 4>;
Turn turn_of(const Sought& sought) {
  const bool any_case = ignores_case(sought);
  if (is_long(sought)) return {0, 0, 0, any_case};
  if (is_name(sought)) return {2, std::string::npos - sought.text.size(), 0, any_case};
  const std::string_view instead = sought.instead;
  return {1,
          instead == "~"   ? 0U
          : instead == "." ? 1U
                           : 2U,
          sought.reach == Reach::as_word, any_case};
}

std::vector<Turn> turns_of(const SoughtList& sought) {
  std::set<Turn> turns;
  for (const Sought& s : sought) turns.insert(turn_of(s));
  return {turns.begin(), turns.end()};
}

Literals literals_of(const SoughtList& sought, const std::vector<Turn>& turns, bool any_case) {
  std::vector<Literal> all;
  for (const Sought& s : sought) {
    if (ignores_case(s) != any_case) continue;
    const auto turn = std::lower_bound(turns.begin(), turns.end(), turn_of(s)) - turns.begin();
    all.push_back({.text = any_case ? in_lower_case(s.text) : s.text,
                   .reach = is_long(s) ? Reach::anywhere : s.reach,
                   .turn = static_cast<std::uint32_t>(turn),
                   .instead = is_name(s) ? replacement : s.instead});
  }
  return Literals(std::move(all));
}

}  // namespace

Remover::Remover(const SoughtList& sought, const Deadline& deadline)
    : turns_(turns_of(sought)),
      exact_(literals_of(sought, turns_, false)),
      in_lower_case_(literals_of(sought, turns_, true)),
      pace_(deadline) {}

bool Remover::remove_from(std::string& text) const {
  bool changed = remove_plain(text);
  std::string meant = text;
  for (int i = 0; i < most_escapings && unescape(meant); ++i) {
    if (!remove_plain(meant)) continue;
    text = meant;
    changed = true;
  }
  return changed;
}

bool Remover::remove_plain(std::string& text) const {
  if (!finds_in(text)) return false;
  for (std::uint32_t turn = 0; turn < turns_.size(); ++turn) {
    const bool any_case = turns_[turn].back() != 0;
    const std::string lower = any_case ? in_lower_case(text) : "";
    std::string out;
    std::size_t from = 0;
    (any_case ? in_lower_case_ : exact_)
        .each_in(any_case ? lower : text, turn, pace_, [&](const Literal& one, std::size_t at) {
          out.append(text, from, at - from) += one.instead;
          from = at + one.text.size();
          return true;
        });
    if (from > 0) text = out.append(text, from);
  }
  return true;
}

bool Remover::finds_in(std::string_view text) const {
  bool found = false;
  const auto use = [&](const Literal&, std::size_t) {
    found = true;
    return false;
  };
  exact_.each_in(text, std::nullopt, pace_, use);
  if (!found) in_lower_case_.each_in(in_lower_case(text), std::nullopt, pace_, use);
  return found;
}

}  // namespace gh::scrubbing
