#include "analysis/launch_turns.hpp"

#include <algorithm>
#include <map>

namespace gh {
namespace {

// How many loops with the same count of repetitions to tell apart.
constexpr std::size_t most_turns = 16;

// b comes once after each of a.
bool alternate(Places a, Places b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (b[k] < a[k] || (k + 1 < a.size() && b[k] >= a[k + 1])) return false;
  return true;
}

// The stride at which distances between places repeat, two or more; 0 if they do not.
std::size_t stride_of(Places places) {
  constexpr std::size_t most = 8;
  for (std::size_t stride = 1; stride <= most && 3 * stride < places.size(); ++stride) {
    std::size_t same = 0, all = 0;
    for (std::size_t k = 1; k + stride < places.size(); ++k, ++all)
      same += places[k] - places[k - 1] == places[k + stride] - places[k + stride - 1];
    if (10 * same >= 8 * all) return stride == 1 ? 0 : stride;
  }
  return 0;
}

std::vector<Turns> turns_among(std::map<std::size_t, std::vector<Places>>& by_count) {
  std::vector<Turns> all;
  for (auto& [count, tokens] : by_count) {
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](Places a, Places b) { return a.front() < b.front(); });
    std::vector<Turns> turns;
    for (const Places& places : tokens) {
      const auto same = std::find_if(turns.begin(), turns.end(),
                                     [&](const Turns& t) { return alternate(t.first, places); });
      if (same != turns.end())
        ++same->kinds;
      else if (turns.size() < most_turns)
        turns.push_back({places});
    }
    all.insert(all.end(), turns.begin(), turns.end());
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Turns& a, const Turns& b) { return a.kinds > b.kinds; });
  return all;
}

}  // namespace

PlacesOf::PlacesOf(const LaunchSequence::Tokens& tokens)
    : from_(tokens.count + 1), places_(tokens.at.size()) {
  for (const LaunchSequence::Token t : tokens.at) ++from_[t + 1];
  for (std::size_t t = 0; t < tokens.count; ++t) from_[t + 1] += from_[t];
  std::vector<std::uint32_t> next(from_.begin(), from_.end() - 1);
  for (std::size_t i = 0; i < tokens.at.size(); ++i)
    places_[next[tokens.at[i]]++] = static_cast<std::uint32_t>(i);
}

TurnSearch::TurnSearch(const LaunchSequence& sequence)
    : seq_(sequence),
      alike_(sequence.alike()),
      exact_(sequence.exact()),
      on_stream_(sequence.on_stream()) {}

std::vector<Turns> TurnSearch::all() const {
  std::map<std::size_t, std::vector<Places>> by_count;
  const auto add = [&](Places places) {
    if (places.size() >= least_count) by_count[places.size()].push_back(places);
  };
  for (std::size_t t = 0; t < alike_.size(); ++t) add(alike_[t]);
  // A finer distinction that splits nothing adds nothing.
  for (std::size_t t = 0; t < exact_.size(); ++t)
    if (exact_[t].size() != alike_[seq_.alike().at[exact_[t].front()]].size()) add(exact_[t]);
  for (std::size_t t = 0; t < on_stream_.size(); ++t)
    if (on_stream_[t].size() != exact_[seq_.exact().at[on_stream_[t].front()]].size())
      add(on_stream_[t]);

  return turns_among(by_count);
}

std::vector<Turns> TurnSearch::of_several() {
  std::map<std::size_t, std::vector<Places>> by_count;
  for (std::size_t t = 0; t < exact_.size(); ++t) {
    const std::size_t several = stride_of(exact_[t]);
    if (several == 0) continue;
    std::vector<std::uint32_t>& one = one_of_several_.emplace_back();
    for (std::size_t k = 0; k < exact_[t].size(); k += several) one.push_back(exact_[t][k]);
    if (one.size() >= least_count) by_count[one.size()].push_back(one);
  }
  return turns_among(by_count);
}

std::optional<Turns> TurnSearch::of_two() const {
  std::map<std::size_t, std::vector<Places>> twice;
  for (std::size_t t = 0; t < exact_.size(); ++t)
    if (exact_[t].size() == 2) twice[2].push_back(exact_[t]);
  const std::vector<Turns> turns = turns_among(twice);
  return turns.empty() ? std::nullopt : std::optional(turns.front());
}

}  // namespace gh
