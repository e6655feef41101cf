#include "read/scrub/vocabulary.hpp"

#include <algorithm>

#include "base/embedded.hpp"
#include "read/scrub/characters.hpp"

namespace gh::scrubbing {
namespace {

// What rules and readers look for in names, without comments.
const std::string& words_of_schemas() {
  static const std::string words = [] {
    std::string all;
    for (const char* path :
         {"schemas/calls.toml", "schemas/gpus.toml", "schemas/kernels.toml", "schemas/kineto.toml",
          "schemas/nsys.toml", "schemas/metrics.toml", "schemas/ranges.toml"}) {
      for (const std::string_view line : split(embedded_file(path), "\n"))
        all += in_lower_case(line.substr(0, line.find('#'))) + '\n';
    }
    return all;
  }();
  return words;
}

bool stands_in(std::string_view text, std::string_view word, bool within_words) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (within_words || ((at == 0 || !is_letter_or_digit(text[at - 1])) &&
                         (end == text.size() || !is_letter_or_digit(text[end])))) {
      return true;
    }
  }
  return false;
}

}  // namespace

void Vocabulary::add_words_of_format(std::string_view name) {
  const std::string lower = in_lower_case(name);
  words_of_format_.insert(lower);
  for (const std::string_view word : split(lower, " _.%"))
    if (!word.empty()) words_of_format_.emplace(word);
  add(name);
}

void Vocabulary::add_name_of_format(std::string_view name) {
  words_of_format_.insert(in_lower_case(name));
}

void Vocabulary::add(std::string_view text) { texts_ += in_lower_case(text) + '\n'; }

bool Vocabulary::is_word_of_format(std::string_view lower) const {
  return words_of_format_.contains(lower);
}

bool Vocabulary::holds(std::string_view lower, bool within_words) const {
  return is_word_of_format(lower) || stands_in(texts_, lower, within_words) ||
         stands_in(words_of_schemas(), lower, within_words);
}

}  // namespace gh::scrubbing
