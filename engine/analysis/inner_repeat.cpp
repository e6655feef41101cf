#include "analysis/inner_repeat.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace gh {
namespace {

using Token = LaunchSequence::Token;

using Distances =
    std::vector<std::pair<std::size_t, std::size_t>>;  // places it may cover, and the distance

// The most common distances between equal tokens: a period is a distance that many share.
Distances most_shared_distances(const std::vector<Token>& tokens, std::size_t from,
                                std::size_t to) {
  constexpr std::size_t most = 24, least_length = 2;
  std::map<Token, std::size_t> last;
  std::map<std::size_t, std::size_t> apart;
  for (std::size_t i = from; i < to; ++i) {
    const auto [at, added] = last.try_emplace(tokens[i], i);
    if (!added && i - at->second >= least_length) ++apart[i - at->second];
    at->second = i;
  }
  Distances distances;
  for (const auto& [distance, shared] : apart) distances.emplace_back(shared * distance, distance);
  std::sort(distances.rbegin(), distances.rend());
  distances.resize(std::min(distances.size(), most));
  return distances;
}

// How often the repetition occurs, given one run of it. The first and last repetition
// may lie apart, next to what comes before and after, so count the tokens that occur once in each.
std::size_t count_of(const std::vector<Token>& tokens, std::size_t from, std::size_t to,
                     const InnerRepeat& run) {
  std::map<Token, std::size_t> in_one, in_all;
  for (std::size_t i = run.begin; i < run.begin + run.length; ++i) ++in_one[tokens[i]];
  for (std::size_t i = from; i < to; ++i) ++in_all[tokens[i]];
  std::map<std::size_t, std::size_t> votes;
  for (const auto& [token, times] : in_one)
    if (times == 1) ++votes[in_all[token]];
  std::size_t count = run.count, most = 0;
  for (const auto& [times, tokens_of_it] : votes)
    if (times >= run.count && times <= run.count + 2 && tokens_of_it > most) {
      most = tokens_of_it;
      count = times;
    }
  return count;
}

using Entries = std::vector<std::size_t>;  // places, in order

struct Range {
  std::size_t from = 0, to = 0;
};

// Compares entries with those of another repetition, of which some are lost in either.
class BesideOther {
 public:
  BesideOther(const std::vector<Token>& tokens, const Entries& entries, Range other)
      : tokens_(tokens), entries_(entries), other_(other) {
    std::size_t at = 0, from = other.from, same = 0;
    for (std::size_t to = from; at < entries.size() && to < other.to; from = ++to, ++same) {
      const auto [skip, skip_other] = to_next_same(at, to);
      to += skip_other;
      if (at + skip >= entries.size() || to >= other.to) break;
      between_.resize(at + skip, {from, from});
      between_.push_back({from, to});
      has_.resize(at + skip);
      has_.push_back(1);
      at += skip + 1;
    }
    between_.resize(entries.size() + 1, {from, from});
    has_.resize(entries.size());
    alike_ = 2 * same >= std::max(entries.size(), other.to - other.from);
  }

  // Whether they have at least half in common.
  bool are_alike() const { return alike_; }
  // Whether the other has the i-th entry.
  bool has(std::size_t i) const { return has_[i] != 0; }
  // What the other has between the entry before the i-th and that one; if it lacks that one as
  // well, up to the next.
  Range before(std::size_t i) const {
    const bool is_empty = between_[i].from == between_[i].to;
    return is_empty && i < has_.size() && !has(i) ? between_[i + 1] : between_[i];
  }

 private:
  // How many entries of both lie before the next that is the same: as few as possible.
  std::pair<std::size_t, std::size_t> to_next_same(std::size_t i, std::size_t j) const {
    constexpr std::size_t most_lost = 32;  // in a row
    const auto same = [&](std::size_t n, std::size_t m) {
      return n < entries_.size() && m < other_.to && tokens_[entries_[n]] == tokens_[m];
    };
    if (same(i, j)) return {0, 0};
    for (std::size_t lost = 1; lost <= most_lost; ++lost)
      for (std::size_t n = 0; n <= lost; ++n)
        if (same(i + n, j + lost - n)) return {n, lost - n};
    return {entries_.size(), 0};
  }

  const std::vector<Token>& tokens_;
  const Entries& entries_;
  Range other_;
  std::vector<Range> between_;
  std::vector<char> has_;
  bool alike_ = false;
};

// Adds what most other repetitions have between two entries, and takes back what was added where
// most have something else.
Entries with_lost(const std::vector<Token>& tokens, const Entries& entries, Range own,
                  const std::vector<Range>& others) {
  std::vector<BesideOther> alike;
  for (const Range& other : others)
    if (BesideOther beside(tokens, entries, other); beside.are_alike())
      alike.push_back(std::move(beside));
  Entries with;
  for (std::size_t i = 0; i <= entries.size(); ++i) {
    std::map<std::vector<Token>, std::vector<std::size_t>> found;  // where each of these begins
    for (const BesideOther& other : alike) {
      const Range lost = other.before(i);
      found[{tokens.begin() + static_cast<std::ptrdiff_t>(lost.from),
             tokens.begin() + static_cast<std::ptrdiff_t>(lost.to)}]
          .push_back(lost.from);
    }
    for (const auto& [lost, begins] : found)
      if (2 * begins.size() > alike.size())
        for (std::size_t n = 0; n < lost.size(); ++n) with.push_back(begins.front() + n);
    if (i == entries.size()) break;
    const auto have = std::count_if(alike.begin(), alike.end(),
                                    [&](const BesideOther& other) { return other.has(i); });
    const bool is_own = entries[i] >= own.from && entries[i] < own.to;
    if (is_own || 2 * static_cast<std::size_t>(have) > alike.size()) with.push_back(entries[i]);
  }
  return with;
}

}  // namespace

std::vector<std::size_t> completed(const LaunchSequence& sequence, const Period& period) {
  constexpr std::size_t most_others = 8;
  constexpr int most_rounds = 4;  // what follows a lost entry may be told only once that is there
  std::vector<Range> others;
  for (std::size_t k = 0; k < period.count() && others.size() < most_others; ++k)
    if (k != period.typical) others.push_back({period.begin_of(k), period.end_of(k)});
  const Range own{period.begin_of(period.typical), period.end_of(period.typical)};
  Entries entries;
  for (std::size_t i = own.from; i < own.to; ++i) entries.push_back(i);
  for (int round = 0; round < most_rounds; ++round) {
    Entries with = with_lost(sequence.exact().at, entries, own, others);
    if (with == entries) break;
    entries = std::move(with);
  }
  return entries;
}

std::optional<InnerRepeat> repeat_within(const LaunchSequence& sequence, std::size_t from,
                                         std::size_t to) {
  constexpr double least_share = 0.25;
  const std::vector<Token>& tokens = sequence.exact().at;
  InnerRepeat best;
  std::size_t held = 0;
  for (const auto& [holds, distance] : most_shared_distances(tokens, from, to))
    for (std::size_t i = from, run = 0; i + distance <= to; ++i) {
      if (i + distance < to && tokens[i] == tokens[i + distance]) {
        ++run;
        continue;
      }
      const std::size_t count = run / distance + 1;
      // The same repetition taken twice as long covers as much.
      if (count > 1 && (count * distance > held ||
                        (10 * count * distance > 9 * held && distance < best.length))) {
        held = std::max(held, count * distance);
        best = {i - run, distance, count, 0};
      }
      run = 0;
    }
  best.share = static_cast<double>(best.count * best.length) / static_cast<double>(to - from);
  if (best.count == 0 || best.share < least_share) return std::nullopt;
  best.count = count_of(tokens, from, to, best);
  return best;
}

bool holds_layers(const LaunchSequence& sequence, std::size_t from, std::size_t to) {
  constexpr double least_share = 0.75;
  const auto inner = repeat_within(sequence, from, to);
  return inner && inner->share >= least_share;
}

}  // namespace gh
