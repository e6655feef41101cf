// Formatting quantities for people.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/spans.hpp"

namespace gh {

/// "160.3 ms", "12.4 us", "1.92 s": three or four significant digits, in a suitable unit.
std::string duration(Ns ns);
std::string duration(double ns);
/// The nanoseconds of "16.5ms", "16.5 ms", "0.0165s", "16500us" or "16500000ns". Nothing if the
/// text is not a positive number followed by one of these units, or exceeds `longest_duration_ns`.
std::optional<Ns> parsed_duration(std::string_view text);
inline constexpr Ns longest_duration_ns = 2'000'000'000'000'000'000;  ///< 63 years
/// "64 KiB", "1.3 GiB".
std::string bytes_text(double bytes);
/// "71 %", "4.2 %", "0.3 %".
std::string percent(double fraction);
/// "steps", "stretches", "batches".
std::string plural(std::string_view noun);
/// "1 step", "11 steps".
std::string plural(std::int64_t n, std::string_view noun);
/// "1st", "2nd", "13th".
std::string ordinal(std::int64_t n);

}  // namespace gh
