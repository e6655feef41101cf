// Numbers in texts.
#pragma once
#include <charconv>
#include <optional>
#include <string_view>

namespace gh {

/// The number that the whole text is; nothing where it is anything else. Unsigned ones have no
/// sign.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

}  // namespace gh
