#include "base/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace gh {
namespace {

// Compares at most this many characters, because the time grows with the square of the length.
constexpr std::size_t most_compared = 64;

// Edit distance in which swapping two neighbors counts as one edit.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, replaced});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

const std::string* nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const std::size_t length = std::min(c.size(), most_compared);
    const std::size_t at_least = std::max(word.size(), length) - std::min(word.size(), length);
    if (at_least >= least) continue;
    const std::size_t d = distance(word, std::string_view(c).substr(0, most_compared));
    if (d < least && d < std::max(word.size(), c.size())) {
      least = d;
      best = &c;
    }
  }
  return best;
}

const std::string* only_one_beginning_with(std::string_view word,
                                           const std::vector<std::string>& candidates) {
  if (word.size() < 3) return nullptr;
  const auto begins = [&](const std::string& c) { return c.starts_with(word); };
  if (std::count_if(candidates.begin(), candidates.end(), begins) != 1) return nullptr;
  return &*std::find_if(candidates.begin(), candidates.end(), begins);
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  word = word.substr(0, most_compared);
  const std::string* meant = nearest(word, candidates);
  if (!meant) meant = only_one_beginning_with(word, candidates);
  return meant ? fmt::format(" (did you mean '{}'?)", printable(*meant)) : "";
}

}  // namespace gh
