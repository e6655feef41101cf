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

}  // namespace

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
