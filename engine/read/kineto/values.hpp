// Values of an event as the text has them: numbers, times, lists.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/spans.hpp"

namespace gh::kineto {

/// Without white space behind it and quotation marks around it.
std::string_view unquoted(std::string_view token);

/// A whole number; some versions write them as text.
std::optional<std::int64_t> integer(std::string_view token);

/// Microseconds with a fraction, as nanoseconds: digit by digit, since a double has too few for
/// times since 1970.
std::optional<Ns> nanoseconds(std::string_view token);

/// "[2, 3, 4]" multiplied out; of a list of lists the sum of such products.
double elements(std::string_view list);

/// The sizes of a grid or block multiplied, at most 4e9.
inline std::uint32_t product_of(std::string_view list) {
  return static_cast<std::uint32_t>(std::clamp(elements(list), 0.0, 4e9));
}

/// The first of them, at most 4e9; 0 of none.
std::uint32_t first_of(std::string_view list);

/// What stands between the first `open` and the next `close`, or the end; "" without `open`.
std::string_view between(std::string_view text, std::string_view open, std::string_view close);

}  // namespace gh::kineto
