#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>

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

// U+200E, U+200F, U+202A to U+202E and U+2066 to U+2069 turn the text that follows them around.
bool is_direction_control(std::string_view character) {
  if (character.size() != 3 || !character.starts_with("\xE2")) return false;
  const auto b = static_cast<unsigned char>(character[1]);
  const auto c = static_cast<unsigned char>(character[2]);
  return (b == 0x80 && (c == 0x8E || c == 0x8F || (c >= 0xAA && c <= 0xAE))) ||
         (b == 0x81 && c >= 0xA6 && c <= 0xA9);
}

// What a terminal would act upon instead of showing it: controls of ASCII and of Latin-1 (U+0080 to
// U+009F), and those of the direction of text.
bool is_control(std::string_view character) {
  const auto a = static_cast<unsigned char>(character[0]);
  if (a < 0x20 || a == 0x7F) return true;
  if (character.size() == 2 && a == 0xC2) return static_cast<unsigned char>(character[1]) < 0xA0;
  return is_direction_control(character);
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
    if (n == 0)
      out += "\uFFFD";
    else if (is_control(bytes.substr(0, n)))
      out += ' ';
    else
      out += bytes.substr(0, n);
    bytes.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width || width < 8) return std::string(text);
  const std::size_t head_width = (width - 3) * 2 / 3;
  const std::size_t tail_width = width - 3 - head_width;
  // Cut between characters: count the first bytes of characters from either end.
  const auto is_first_byte = [&](std::size_t i) {
    return (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
  };
  std::size_t head = 0, tail = text.size();
  for (std::size_t n = 0; n <= head_width && head < text.size(); ++head) n += is_first_byte(head);
  --head;
  while (!is_first_byte(head)) --head;
  for (std::size_t n = 0; n < tail_width; n += is_first_byte(tail)) --tail;
  return std::string(text.substr(0, head)) + "..." + std::string(text.substr(tail));
}

std::size_t display_width(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
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

}  // namespace gh
