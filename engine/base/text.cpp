#include "base/text.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gh {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `s`, or 0 (Unicode's table 3-7: no
// overlong forms, no surrogates).
std::size_t utf8_length(std::string_view s) {
  const auto byte = [&](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a <= 0xDF) return tail(1) ? 2 : 0;
  if (a >= 0xE0 && a <= 0xEF) {
    const bool good = tail(1) && tail(2) && (a != 0xE0 || b >= 0xA0) && (a != 0xED || b < 0xA0);
    return good ? 3 : 0;
  }
  if (a >= 0xF0 && a <= 0xF4) {
    const bool good =
        tail(1) && tail(2) && tail(3) && (a != 0xF0 || b >= 0x90) && (a != 0xF4 || b < 0x90);
    return good ? 4 : 0;
  }
  return 0;
}

// U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 turn the text around that follows them.
bool is_direction_control(std::string_view character) {
  if (character.size() != 3 || !character.starts_with("\xE2")) return false;
  const auto b = static_cast<unsigned char>(character[1]),
             c = static_cast<unsigned char>(character[2]);
  return (b == 0x80 && (c == 0x8E || c == 0x8F || (c >= 0xAA && c <= 0xAE))) ||
         (b == 0x81 && c >= 0xA6 && c <= 0xA9);
}

// Edit distance in which swapped neighbours count once.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t n = utf8_length(bytes);
    out += n == 0 ? "\uFFFD" : bytes.substr(0, n);
    bytes.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t n = utf8_length(bytes);
    const auto a = static_cast<unsigned char>(bytes[0]);
    if (n == 0)
      out += "\uFFFD";
    else if (a < 0x20 || a == 0x7F)
      out += ' ';
    else if (n == 2 && a == 0xC2 && static_cast<unsigned char>(bytes[1]) < 0xA0)
      out += ' ';  // C1 controls
    else if (is_direction_control(bytes.substr(0, n)))
      out += ' ';
    else
      out += bytes.substr(0, n);
    bytes.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width || width < 8) return std::string(text);
  // Cut at character boundaries: count starts of sequences from either end.
  const auto is_start = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  };
  std::size_t head = 0, tail = text.size();
  for (std::size_t n = 0; n <= (width - 3) * 2 / 3 && head < text.size(); ++head)
    n += is_start(head);
  --head;
  for (std::size_t n = 0; n < (width - 3) - (width - 3) * 2 / 3; n += is_start(tail)) --tail;
  while (!is_start(head)) --head;
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

std::size_t display_width(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string duration(Ns ns) {
  const double v = static_cast<double>(ns), size = std::abs(v);
  const auto scaled = [](double x, const char* unit) {
    return fmt::format("{:.{}f} {}", x,
                       std::abs(x) < 9.995    ? 2
                       : std::abs(x) < 999.95 ? 1
                                              : 0,
                       unit);
  };
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
  return fmt::format("{:.{}f} {}", bytes,
                     u == 0 || bytes >= 99.95 || bytes == std::floor(bytes) ? 0 : 1, units[u]);
}

std::string percent(double fraction) {
  const double p = fraction * 100;
  return fmt::format("{:.{}f} %", p, std::abs(p) < 9.95 ? 1 : 0);
}

SourceLine source_line(std::string_view text) {
  static const RE2 named(
      R"(([\w./+\-]*\w\.(?:py|pyx|c|cc|cpp|cxx|cu|cuh|h|hpp|jl|rs))[:(](\d{1,7})\b)");
  static const RE2 installed(
      R"((?:^|/)(?:site-packages|dist-packages|lib/python[\d.]*)/|^(?:torch/|<))");
  std::string file;
  int line = 0;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, named, &file, &line))
    if (line > 0 && !RE2::PartialMatch(file, installed)) return {file, line};
  return {};
}

std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  word = word.substr(0, 64);
  const std::string* best = nullptr;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& c : candidates) {
    const std::size_t d = distance(word, std::string_view(c).substr(0, 64));
    if (d < least && d < std::max(word.size(), c.size())) {
      least = d;
      best = &c;
    }
  }
  // Else the only one that begins so.
  if (!best && word.size() >= 3) {
    const auto begins = [&](const std::string& c) { return c.starts_with(word); };
    if (std::count_if(candidates.begin(), candidates.end(), begins) == 1)
      best = &*std::find_if(candidates.begin(), candidates.end(), begins);
  }
  return best ? fmt::format(" (did you mean '{}'?)", *best) : "";
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Patterns::Patterns(const std::vector<std::string>& expressions, std::string_view where) {
  re2::RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  std::string any;  // one expression for all of them: a text is gone through once
  for (const std::string& e : expressions) {
    compiled_.push_back(std::make_shared<re2::RE2>(e, options));
    if (!compiled_.back()->ok())
      throw Error(fmt::format("{}: '{}' is not a regular expression: {}", where, printable(e),
                              compiled_.back()->error()));
    any += fmt::format("{}(?:{})", any.empty() ? "" : "|", e);
  }
  if (compiled_.size() < 2) return;
  if (auto joined = std::make_shared<re2::RE2>(any, options); joined->ok())
    compiled_ = {std::move(joined)};
}

bool Patterns::match(std::string_view text) const {
  return std::any_of(compiled_.begin(), compiled_.end(), [&](const auto& re) {
    return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *re);
  });
}

}  // namespace gh
