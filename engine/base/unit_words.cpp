#include "base/unit_words.hpp"

#include <string_view>
#include <utility>

#include "base/quantities.hpp"
#include "base/text.hpp"

namespace gh {

UnitWords::UnitWords(std::string full_name) : name(std::move(full_name)) {
  noun = name.ends_with(" step") ? "step" : name;
  many = plural(noun);
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun.front()) != noun.npos;
  a = (is_window() ? "the " : vowel ? "an " : "a ") + noun;
  per = is_window() ? "in all" : a;
}

bool is_called(std::string_view name, std::string_view asked) {
  const std::string lower = in_lower_case(asked);
  const auto fits = [&](const std::string& one) {
    return one == lower || one.ends_with(" " + lower);
  };
  return !lower.empty() && (fits(std::string(name)) || fits(plural(name)));
}

std::string capitalized(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace gh
