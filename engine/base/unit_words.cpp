#include "base/unit_words.hpp"

#include <string_view>
#include <utility>

#include "base/quantities.hpp"

namespace gh {

UnitWords::UnitWords(std::string full_name) : name(std::move(full_name)) {
  noun = name.ends_with(" step") ? "step" : name;
  many = plural(noun);
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) != noun.npos;
  a = (is_window() ? "the " : vowel ? "an " : "a ") + noun;
  per = is_window() ? "in all" : a;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace gh
