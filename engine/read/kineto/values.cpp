#include "read/kineto/values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "read/limits.hpp"

namespace gh::kineto {

std::string_view unquoted(std::string_view token) {
  while (!token.empty() && (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' ||
                            token.back() == '\t')) {
    token.remove_suffix(1);
  }
  if (token.size() >= 2 && token.front() == '"' && token.back() == '"') {
    token = token.substr(1, token.size() - 2);
  }
  return token;
}

std::optional<std::int64_t> integer(std::string_view token) {
  token = unquoted(token);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), v);
  if (error != std::errc() || token.empty() ||
      (end != token.data() + token.size() && *end != '.')) {
    return std::nullopt;
  }
  return v;
}

std::optional<Ns> nanoseconds(std::string_view token) {
  token = unquoted(token);
  std::int64_t whole = 0;
  const char* const end = token.data() + token.size();
  auto [at, error] = std::from_chars(token.data(), end, whole);
  if (error != std::errc() || whole > absurd_ns / 1000 || whole < -absurd_ns / 1000) {
    return std::nullopt;
  }
  if (at != end && (std::find_if(at, end, [](char c) { return c == 'e' || c == 'E'; }) != end)) {
    double us = 0;
    const auto [all, bad] = std::from_chars(token.data(), end, us);
    if (bad != std::errc() || all != end ||
        !(std::abs(us) < static_cast<double>(absurd_ns) / 1000)) {
      return std::nullopt;
    }
    return std::llround(us * 1000);
  }
  Ns ns = 0;
  if (at != end && *at == '.') {
    for (Ns unit = 100; ++at != end && *at >= '0' && *at <= '9'; unit /= 10) {
      ns += unit * (*at - '0');
    }
  }
  if (at != end) return std::nullopt;
  return whole * 1000 + (token.front() == '-' ? -ns : ns);
}

double elements(std::string_view list) {
  double sum = 0, product = 1;
  bool any = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') {
      product = 1;
      any = false;
    } else if (list[i] == ']') {
      sum += any ? product : 0;
      any = false;
    } else if (list[i] >= '0' && list[i] <= '9') {
      double n = 0;
      i = static_cast<std::size_t>(
              std::from_chars(list.data() + i, list.data() + list.size(), n).ptr - list.data()) -
          1;
      product *= n;
      any = true;
    }
  }
  return sum;
}

std::uint32_t first_of(std::string_view list) {
  double first = 0;
  const std::size_t at = std::min(list.find_first_of("0123456789"), list.size());
  std::from_chars(list.data() + at, list.data() + list.size(), first);
  return static_cast<std::uint32_t>(std::clamp(first, 0.0, 4e9));
}

std::string_view between(std::string_view text, std::string_view open, std::string_view close) {
  const std::size_t from = text.find(open);
  if (from == text.npos) return {};
  const std::size_t to = text.find(close, from + open.size());
  return text.substr(from + open.size(), to == text.npos ? to : to - from - open.size());
}

}  // namespace gh::kineto
