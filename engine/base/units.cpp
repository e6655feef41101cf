#include "base/units.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gh {
namespace {

// Limits are where a number, once rounded, takes one digit more: 9.995 is shown as 10.0.
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
  return fmt::format("{:.{}f} %", p, std::abs(p) < 9.95 ? 1 : 0);
}

}  // namespace gh
