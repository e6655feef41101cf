#include "read/scrub/readings.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "read/scrub/characters.hpp"

namespace gh::scrubbing {
namespace {

using Text = std::string_view;
constexpr std::uint32_t none = ~0U;

constexpr std::uint32_t hexadecimal_digit(char c) {
  if (c >= '0' && c <= '9') return byte(c) - '0';
  const char lower = static_cast<char>(c | 32);
  return lower >= 'a' && lower <= 'f' ? byte(lower) - 'a' + 10 : none;
}

// The number made by exactly this many digits from `at` on.
std::uint32_t hexadecimal(Text text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return none;
  std::uint32_t number = 0;
  for (const char c : text.substr(at, digits)) {
    const std::uint32_t digit = hexadecimal_digit(c);
    if (digit == none) return none;
    number = number << 4 | digit;
  }
  return number;
}

void append_point(std::string& out, std::uint32_t point) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (point >> shift & 63)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0 | point >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (point >> 18 & 7));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Characters beyond the first 65,536 are written as two numbers in these ranges.
bool is_first_of_two(std::uint32_t n) { return n >= 0xD800 && n < 0xDC00; }
bool is_second_of_two(std::uint32_t n) { return n >= 0xDC00 && n < 0xE000; }
std::uint32_t point_of(std::uint32_t first, std::uint32_t second) {
  return 0x10000 + ((first - 0xD800) << 10 | (second - 0xDC00));
}

// --- escapes. Each returns where the text continues, or 0 if there is no escape.

// \u{41}
std::size_t read_braces(Text text, std::size_t at, std::string& out) {
  constexpr std::size_t most_digits = 8;
  const std::size_t close = text.substr(at, most_digits + 4).find('}');
  if (close == text.npos) return 0;
  const std::uint32_t point = close > 3 ? hexadecimal(text, at + 3, close - 3) : none;
  if (point == none) return 0;
  append_point(out, point);
  return at + close + 1;
}

std::size_t read_octal(Text text, std::size_t at, std::string& out) {
  std::size_t next = at + 1;
  std::uint32_t value = 0;
  for (; next < text.size() && next < at + 4 && text[next] >= '0' && text[next] <= '7'; ++next) {
    value = value * 8 + byte(text[next]) - '0';
  }
  if (next == at + 1) return 0;
  out += static_cast<char>(value);
  return next;
}

// Shells put a backslash before any character.
std::size_t read_sign(Text text, std::size_t at, std::string& out) {
  const char c = text[at + 1], lower = static_cast<char>(c | 32);
  if ((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9')) return 0;
  out += c;
  return at + 2;
}

std::size_t read_backslash(Text text, std::size_t at, std::string& out) {
  if (at + 1 >= text.size()) return 0;
  switch (text[at + 1]) {
    case 'n': out += '\n'; return at + 2;
    case 'r': out += '\r'; return at + 2;
    case 't': out += '\t'; return at + 2;
    case 'b': out += '\b'; return at + 2;
    case 'f': out += '\f'; return at + 2;
    case 'x': {
      const std::uint32_t value = hexadecimal(text, at + 2, 2);
      if (value == none) return 0;
      out += static_cast<char>(value);
      return at + 4;
    }
    case 'U': {
      const std::uint32_t point = hexadecimal(text, at + 2, 8);
      if (point == none) return 0;
      append_point(out, point);
      return at + 10;
    }
    case 'u': {
      if (text.substr(at + 2).starts_with('{')) return read_braces(text, at, out);
      const std::uint32_t first = hexadecimal(text, at + 2, 4);
      if (first == none) return 0;
      const std::uint32_t second =
          text.substr(at + 6, 2) == "\\u" ? hexadecimal(text, at + 8, 4) : none;
      const bool are_two = is_first_of_two(first) && second != none && is_second_of_two(second);
      append_point(out, are_two ? point_of(first, second) : first);
      return are_two ? at + 12 : at + 6;
    }
    default: {
      const std::size_t next = read_octal(text, at, out);
      return next > 0 ? next : read_sign(text, at, out);
    }
  }
}

std::size_t read_percent(Text text, std::size_t at, std::string& out) {
  const std::uint32_t value = hexadecimal(text, at + 1, 2);
  if (value == none) return 0;
  out += static_cast<char>(value);
  return at + 3;
}

std::size_t read_entity(Text text, std::size_t at, std::string& out) {
  constexpr std::size_t longest = 10;
  const std::size_t length = text.substr(at, longest).find(';');
  if (length == text.npos) return 0;
  const Text name = text.substr(at + 1, length - 1);
  constexpr std::array<std::pair<Text, char>, 6> named{
      {{"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", ' '}}};
  for (const auto& [known, meant] : named) {
    if (name != known) continue;
    out += meant;
    return at + length + 1;
  }
  if (name.size() < 2 || name[0] != '#') return 0;
  const bool is_hexadecimal = name[1] == 'x' || name[1] == 'X';
  std::uint32_t point = 0;
  for (const char c : name.substr(is_hexadecimal ? 2 : 1)) {
    const std::uint32_t digit = hexadecimal_digit(c);
    if (digit == none || (!is_hexadecimal && digit > 9)) return 0;
    point = point * (is_hexadecimal ? 16 : 10) + digit;
  }
  append_point(out, point);
  return at + length + 1;
}

// --- digits

// Accepts both alphabets, the standard one and that for URLs.
constexpr std::uint32_t base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return byte(c) - 'A';
  if (c >= 'a' && c <= 'z') return byte(c) - 'a' + 26;
  if (c >= '0' && c <= '9') return byte(c) - '0' + 52;
  if (c == '+' || c == '-') return 62;
  return c == '/' || c == '_' ? 63 : none;
}

constexpr std::uint32_t base32_digit(char c) {
  const char lower = static_cast<char>(c | 32);
  if (lower >= 'a' && lower <= 'z') return byte(lower) - 'a';
  return c >= '2' && c <= '7' ? byte(c) - '2' + 26 : none;
}

struct Alphabet {
  std::array<std::uint32_t, 256> values;  // by character
  int bits;                               // per digit
  std::size_t places;                     // positions of a digit in a group that makes whole bytes
};

constexpr Alphabet alphabet(std::uint32_t (*value)(char), int bits, std::size_t places) {
  Alphabet made{{}, bits, places};
  for (std::size_t i = 0; i < made.values.size(); ++i) made.values[i] = value(static_cast<char>(i));
  return made;
}

constexpr Alphabet of_base64 = alphabet(base64_digit, 6, 4),
                   of_base32 = alphabet(base32_digit, 5, 8),
                   of_hexadecimal = alphabet(hexadecimal_digit, 4, 2);

void append_bytes(Text digits, const Alphabet& alphabet, std::string& out) {
  std::uint32_t all = 0;
  int held = 0;
  for (const char c : digits) {
    all = all << alphabet.bits | alphabet.values[byte(c)];
    held += alphabet.bits;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(all >> held & 255);
  }
  out += '\0';
}

std::string read_runs(Text text, const Alphabet& alphabet, std::size_t least_bytes) {
  const auto bits = static_cast<std::size_t>(alphabet.bits);
  const std::size_t least = (least_bytes * 8 + bits - 1) / bits;
  std::string out;
  for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
    to = from;
    while (to < text.size() && alphabet.values[byte(text[to])] != none) ++to;
    if (to - from < least) continue;
    for (std::size_t first = 0; first < alphabet.places; ++first) {
      append_bytes(text.substr(from + first, to - from - first), alphabet, out);
    }
  }
  return out;
}

bool is_sign(char c) {
  const char lower = static_cast<char>(c | 32);
  return !(lower >= 'a' && lower <= 'z') && !(c >= '0' && c <= '9');
}

std::string read_numbers(Text text, std::uint32_t base, std::size_t least_bytes) {
  std::string out, bytes;
  const auto end_list = [&] {
    if (bytes.size() >= least_bytes) out += bytes + '\0';
    bytes.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t value = 0;
    std::size_t end = at;
    for (; end < text.size() && end < at + 4; ++end) {
      const std::uint32_t digit = byte(text[end]) - '0';  // a large number for other characters
      if (digit >= base) break;
      value = value * base + digit;
    }
    const bool is_byte = end > at && value < 256;
    if (is_byte) bytes += static_cast<char>(value);
    if (!is_byte && !is_sign(text[at])) end_list();
    at = std::max(end, at + 1);
  }
  end_list();
  return out;
}

}  // namespace

std::string folded(Text text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::uint32_t first = byte(out[i]);
    if (first < 0x80) {
      if (first >= 'A' && first <= 'Z') out[i] = static_cast<char>(first + 32);
      continue;
    }
    if (first < 0xC3 || first > 0xD1 || i + 1 == out.size() || byte(out[i + 1]) >> 6 != 2) continue;
    std::uint32_t point = (first & 31) << 6 | (byte(out[i + 1]) & 63);
    const auto between = [&](std::uint32_t from, std::uint32_t to) {
      return point >= from && point <= to;
    };
    if ((between(0xC0, 0xDE) && point != 0xD7) || between(0x391, 0x3A9) || between(0x410, 0x42F)) {
      point += 32;
    } else if (between(0x400, 0x40F)) {
      point += 80;
    } else if (point == 0x3C2) {  // the sigma at the end of a word
      point = 0x3C3;
    } else if (between(0x100, 0x137) || between(0x14A, 0x177) || between(0x460, 0x481)) {
      point |= 1;
    } else if ((between(0x139, 0x148) || between(0x179, 0x17E)) && point % 2 == 1) {
      ++point;
    }
    out[i] = static_cast<char>(0xC0 | point >> 6);
    out[++i] = static_cast<char>(0x80 | (point & 63));
  }
  return out;
}

bool read_escapes(std::string& text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; (at = text.find_first_of("\\%&", at)) != text.npos;) {
    std::string meant;
    const std::size_t next = text[at] == '\\'  ? read_backslash(text, at, meant)
                             : text[at] == '%' ? read_percent(text, at, meant)
                                               : read_entity(text, at, meant);
    if (next == 0) {
      ++at;
      continue;
    }
    out.append(text, copied, at - copied) += meant;
    copied = at = next;
  }
  if (copied == 0) return false;
  text = out.append(text, copied);
  return true;
}

std::string read_quoted_printable(Text text) {
  std::string out;
  std::size_t copied = 0;
  for (std::size_t at = 0; (at = text.find('=', at)) != text.npos; ++at) {
    const Text rest = text.substr(at + 1);
    const std::uint32_t value = hexadecimal(rest, 0, 2);
    const std::size_t line_end = rest.starts_with("\r\n") ? 2 : rest.starts_with('\n') ? 1 : 0;
    if (value == none && line_end == 0) continue;
    out.append(text, copied, at - copied);
    if (value != none) out += static_cast<char>(value);
    copied = at + 1 + (value != none ? 2 : line_end);
    at = copied - 1;
  }
  return copied == 0 ? out : out.append(text, copied);
}

std::string bare(Text text) {
  std::string out;
  for (const char c : text) {
    if (!is_sign(c)) out += c;
  }
  return out;
}

std::string joined_lines(Text text) {
  std::string out;
  for (const char c : text) {
    if (c != '\n' && c != '\r') out += c;
  }
  return out;
}

std::string unwrapped_lines(Text text) {
  constexpr Text around = " \t\r\n\"'\\,";
  std::string out;
  bool any = false;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; from = at) {
    std::size_t end = at;
    while (end > from && around.find(text[end - 1]) != around.npos) --end;
    const std::size_t next = std::min(text.find_first_not_of(around, at), text.size());
    any = any || text.find_first_not_of("\r\n", end) < next;
    out.append(text, from, end - from);
    at = next;
  }
  return any ? out.append(text, from) : "";
}

std::string joined_groups(Text text) {
  constexpr Text spaces = " \t\r\n";
  std::string out;
  std::size_t digits = 0;
  for (const char c : text) {
    const bool is_digit = of_base64.values[byte(c)] != none;
    const bool ends_group = digits > 0 && digits % of_base64.places == 0;
    digits = is_digit ? digits + 1 : 0;
    if (!ends_group || spaces.find(c) == spaces.npos) out += c;
  }
  return out.size() < text.size() ? out : "";
}

std::string read_base64(Text text, std::size_t least_bytes) {
  return read_runs(text, of_base64, least_bytes);
}

bool has_digits_of_base64(Text text, std::size_t least_bytes) {
  std::size_t run = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    run = of_base64.values[byte(c)] == none ? 0 : run + 1;
    if (run * 6 >= least_bytes * 8) return true;
  }
  return false;
}

std::string read_base32(Text text, std::size_t least_bytes) {
  return read_runs(text, of_base32, least_bytes);
}

std::string read_hexadecimal(Text text, std::size_t least_bytes) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i], lower = static_cast<char>(c | 32);
    if (is_sign(c) || lower == 'h' || lower == 'u') continue;  // 63h, U+0063, %u0063
    if (c == '0' && i + 1 < text.size() && (text[i + 1] | 32) == 'x') {
      ++i;
    } else if (lower != 'x') {  // \x{63}
      digits += c;
    }
  }
  return read_runs(digits, of_hexadecimal, least_bytes);
}

std::string read_decimal(Text text, std::size_t least_bytes) {
  return read_numbers(text, 10, least_bytes);
}

std::string read_octal(Text text, std::size_t least_bytes) {
  return read_numbers(text, 8, least_bytes);
}

bool is_utf16(Text text) {
  for (std::size_t i = 0; i + 4 < text.size(); ++i) {
    if (text[i] == 0 && text[i + 2] == 0 && text[i + 4] == 0) return true;
  }
  return false;
}

std::string read_utf16(Text text) {
  std::string out;
  if (text.find('\0') == text.npos) return out;
  for (const std::size_t high : {0UL, 1UL}) {
    for (const std::size_t from : {0UL, 1UL}) {
      const auto unit = [&](std::size_t at) {
        return byte(text[at + high]) << 8 | byte(text[at + 1 - high]);
      };
      for (std::size_t at = from; at + 1 < text.size(); at += 2) {
        const std::uint32_t first = unit(at), second = at + 3 < text.size() ? unit(at + 2) : 0;
        const bool are_two = is_first_of_two(first) && is_second_of_two(second);
        append_point(out, are_two ? point_of(first, second) : first);
        if (are_two) at += 2;
      }
      out += '\0';
    }
  }
  return out;
}

}  // namespace gh::scrubbing
