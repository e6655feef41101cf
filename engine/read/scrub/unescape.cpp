#include "read/scrub/unescape.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "read/scrub/characters.hpp"

namespace gh::scrubbing {
namespace {

using Text = std::string_view;

std::optional<unsigned> number(Text digits, int base) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

void append_utf8(std::string& out, unsigned point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    out += static_cast<char>(0x80 | (point & 63));
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    out += static_cast<char>(0x80 | (point >> 6 & 63));
    out += static_cast<char>(0x80 | (point & 63));
  }
}

// Each returns how many bytes of `rest` it has read as an escape into `out`; 0 if there is no
// escape.

std::size_t read_hexadecimal(Text rest, std::size_t prefix, std::size_t digits, std::string& out) {
  if (rest.size() < prefix + digits) return 0;
  const auto value = number(rest.substr(prefix, digits), 16);
  if (!value) return 0;
  if (digits == 2) {
    out += static_cast<char>(*value);
  } else {
    append_utf8(out, *value);
  }
  return prefix + digits;
}

std::size_t read_backslash(Text rest, std::string& out) {
  if (rest.size() < 2) return 0;
  constexpr Text written = "\"\\/'nrtbf", meant = "\"\\/'\n\r\t\b\f";
  if (const std::size_t at = written.find(rest[1]); at != written.npos) {
    out += meant[at];
    return 2;
  }
  if (rest[1] == 'x') return read_hexadecimal(rest, 2, 2, out);
  if (rest[1] == 'u') return read_hexadecimal(rest, 2, 4, out);
  if (is_letter_or_digit(rest[1])) return 0;
  out += rest[1];
  return 2;
}

std::size_t read_entity(Text rest, std::string& out) {
  constexpr std::array<std::pair<Text, char>, 5> named{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  for (const auto& [entity, character] : named) {
    if (!rest.starts_with(entity)) continue;
    out += character;
    return entity.size();
  }
  const std::size_t end = rest.substr(0, 10).find(';');
  if (!rest.starts_with("&#") || end == rest.npos || end < 3) return 0;
  const bool hexadecimal = rest[2] == 'x' || rest[2] == 'X';
  const std::size_t from = hexadecimal ? 3 : 2;
  const auto value = number(rest.substr(from, end - from), hexadecimal ? 16 : 10);
  if (!value) return 0;
  append_utf8(out, *value);
  return end + 1;
}

}  // namespace

bool unescape(std::string& text) {
  if (text.find_first_of("\\%&") == text.npos) return false;
  std::string out;
  for (Text rest = text; !rest.empty();) {
    std::size_t read = 0;
    if (rest.front() == '\\') read = read_backslash(rest, out);
    if (rest.front() == '%') read = read_hexadecimal(rest, 1, 2, out);
    if (rest.front() == '&') read = read_entity(rest, out);
    if (read == 0) out += rest[read++];
    rest.remove_prefix(read);
  }
  if (out == text) return false;
  text = std::move(out);
  return true;
}

}  // namespace gh::scrubbing
