// Parses values of an event from their text: numbers, times, lists.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/spans.hpp"

namespace gh::kineto {

/// Without trailing white space and surrounding quotation marks.
std::string_view unquoted(std::string_view token);

/// A whole number; some versions write numbers as strings.
std::optional<std::int64_t> integer(std::string_view token);

/// Converts microseconds with a fraction to nanoseconds, digit by digit, because a double has too
/// few digits for times since 1970.
std::optional<Ns> nanoseconds(std::string_view token);

/// The product of "[2, 3, 4]"; for a list of lists, the sum of the products.
double elements(std::string_view list);

/// The product of a grid's or block's sizes, at most 4e9.
inline std::uint32_t product_of(std::string_view list) {
  return static_cast<std::uint32_t>(std::clamp(elements(list), 0.0, 4e9));
}

/// The first number of a list, at most 4e9; 0 if there is none.
std::uint32_t first_of(std::string_view list);

/// The text between the first `open` and the next `close`, or the end; "" if there is no `open`.
std::string_view between(std::string_view text, std::string_view open, std::string_view close);

}  // namespace gh::kineto
