#include "read/scrub/cleaner.hpp"

#include <algorithm>
#include <vector>

namespace gh::scrubbing {
namespace {

// Words are found by bisection, which takes several dozen searches each. Longer texts, and texts
// that contain it more often, are removed as a whole.
constexpr std::size_t most_bytes_cut = 64 << 10;
constexpr int most_cuts = 8;

// Whether a character can only occur between words, whatever escapes or digits a word is written
// with.
bool is_between_words(char c) {
  constexpr std::string_view signs = "\"'()<>[]|,";
  return static_cast<unsigned char>(c) <= ' ' || signs.find(c) != signs.npos;
}

// Where words, and what is between them, begin and end.
std::vector<std::size_t> edges_of(std::string_view text) {
  std::vector<std::size_t> edges{0};
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (is_between_words(text[i]) || is_between_words(text[i - 1])) edges.push_back(i);
  }
  edges.push_back(text.size());
  return edges;
}

}  // namespace

// Cuts as few words as contain it: up to the first word after which it is found, and from the last
// word before which it has not begun. False if these cannot be determined, because the match
// depends on its surroundings.
bool Cleaner::cut_words(std::string& text) const {
  const std::vector<std::size_t> edges = edges_of(text);
  const auto holds = [&](std::size_t from, std::size_t to) {
    return proof_->in_text(std::string_view(text).substr(from, to - from)) != nullptr;
  };
  const auto end = std::partition_point(edges.begin(), edges.end(),
                                        [&](std::size_t edge) { return !holds(0, edge); });
  if (end == edges.end()) return false;
  const auto behind_begin =
      std::partition_point(edges.begin(), end, [&](std::size_t edge) { return holds(edge, *end); });
  if (behind_begin == edges.begin()) return false;
  const std::size_t begin = *(behind_begin - 1);
  text.replace(begin, *end - begin, replacement);
  return true;
}

bool Cleaner::remove_from(std::string& text) const {
  const bool changed = remover_.remove_from(text);
  if (!proof_ || !proof_->in_text(text)) return changed;
  for (int i = 0; i < most_cuts && text.size() <= most_bytes_cut && cut_words(text); ++i) {
    if (!proof_->in_text(text)) return true;
  }
  text = replacement;
  return true;
}

bool Cleaner::finds_in(std::string_view text) const {
  return remover_.finds_in(text) || (proof_ && proof_->in_text(text));
}

}  // namespace gh::scrubbing
