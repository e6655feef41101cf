#include "base/quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gh {
namespace {

// Compares with the value at which rounding would add a digit: 9.995 is shown as 10.0.
int digits_after_point(double value) {
  const double size = std::abs(value);
  if (size < 9.995) return 2;
  return size < 999.95 ? 1 : 0;
}

std::string scaled(double value, const char* unit) {
  return fmt::format("{:.{}f} {}", value, digits_after_point(value), unit);
}

}  // namespace

std::string duration(Ns ns) {
  const double v = static_cast<double>(ns);
  const double size = std::abs(v);
  if (size < 1e3) return fmt::format("{} ns", ns);
  if (size < 999.95e3) return scaled(v / 1e3, "us");
  if (size < 9999.5e6) return scaled(v / 1e6, "ms");
  return scaled(v / 1e9, "s");
}

std::string duration(double ns) { return duration(static_cast<Ns>(std::llround(ns))); }

std::optional<Ns> parsed_duration(std::string_view text) {
  struct Of {
    std::string_view name;
    double ns;
  };
  static constexpr Of units[] = {{"ns", 1},  {"us", 1e3},   {"µs", 1e3},  {"ms", 1e6},
                                 {"s", 1e9}, {"min", 6e10}, {"h", 3.6e12}};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  for (const Of& unit : units) {
    if (text != unit.name) continue;
    const double ns = std::round(value * unit.ns);
    // Written this way round so that NaN fails too.
    if (!(ns >= 1 && ns <= static_cast<double>(longest_duration_ns))) return std::nullopt;
    return static_cast<Ns>(ns);
  }
  return std::nullopt;
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t u = 0;
  while (bytes >= 1024 && u < 4) {
    bytes /= 1024;
    ++u;
  }
  const bool whole = u == 0 || bytes >= 99.95 || bytes == std::floor(bytes);
  return fmt::format("{:.{}f} {}", bytes, whole ? 0 : 1, units[u]);
}

std::string percent(double fraction) {
  const double p = fraction * 100;
  // "0.0 %" would say that there is nothing.
  if (p > 0 && p < 0.05) return "below 0.1 %";
  if (p == 0) return "0 %";
  return fmt::format("{:.{}f} %", p, std::abs(p) < 9.95 ? 1 : 0);
}

std::string plural(std::string_view noun) {
  const bool hisses = (noun.ends_with("ch") && !noun.ends_with("poch")) || noun.ends_with("s") ||
                      noun.ends_with("x");
  return fmt::format("{}{}", noun, hisses ? "es" : "s");
}

std::string plural(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}", n, n == 1 ? std::string(noun) : plural(noun));
}

std::string ordinal(std::int64_t n) {
  const std::int64_t last = n % 10, before = n / 10 % 10;
  return fmt::format("{}{}", n,
                     before == 1 ? "th"
                     : last == 1 ? "st"
                     : last == 2 ? "nd"
                     : last == 3 ? "rd"
                                 : "th");
}

}  // namespace gh
