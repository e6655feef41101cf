#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace gh {
namespace {

// The length of the well-formed UTF-8 sequence at the start of `s`, or 0. Follows Unicode's table
// 3-7: no overlong forms, no surrogates.
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

// The code point of a well-formed sequence.
char32_t code_point(std::string_view sequence) {
  const auto first = static_cast<unsigned char>(sequence[0]);
  if (sequence.size() == 1) return first;
  char32_t c = first & (0x7Fu >> sequence.size());
  for (const char tail : sequence.substr(1))
    c = c << 6 | (static_cast<unsigned char>(tail) & 0x3Fu);
  return c;
}

// Characters that a terminal or browser would act on, or that are invisible: controls, line
// separators, direction changes, zero-width characters, tags, and code points that are not
// characters (or that XML forbids).
bool is_hidden(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  constexpr Range hidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},
                              {0x61C, 0x61C},   {0x180E, 0x180E},  {0x200B, 0x200F},
                              {0x2028, 0x202E}, {0x2060, 0x206F},  {0xFEFF, 0xFEFF},
                              {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  if (c >= 0x20 && c < 0x7F) return false;
  return (c & 0xFFFE) == 0xFFFE ||
         std::any_of(std::begin(hidden), std::end(hidden),
                     [&](const Range& r) { return c >= r.first && c <= r.last; });
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
  const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };  // as nearly all are
  std::string out;
  out.reserve(bytes.size());
  for (auto at = bytes.begin(); at != bytes.end();) {
    const auto plain_end = std::find_if_not(at, bytes.end(), is_plain);
    out.append(at, plain_end);
    if (plain_end == bytes.end()) break;
    const std::string_view rest = bytes.substr(static_cast<std::size_t>(plain_end - bytes.begin()));
    const std::size_t n = utf8_length(rest);
    if (n == 0)
      out += "\uFFFD";
    else if (is_hidden(code_point(rest.substr(0, n))))
      out += ' ';
    else
      out += rest.substr(0, n);
    at = plain_end + static_cast<std::ptrdiff_t>(std::max<std::size_t>(n, 1));
  }
  return out;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (const std::string_view line : split(text, "\n")) out += printable(line) + '\n';
  if (!text.ends_with('\n') && !out.empty()) out.pop_back();
  return out;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width || width < 8) return std::string(text);
  const std::size_t head_width = (width - 3) * 2 / 3;
  const std::size_t tail_width = width - 3 - head_width;
  // Cut between characters by counting the first bytes of characters from either end.
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

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return lower;
}

std::string in_upper_case(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return upper;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0, to = 0; from < text.size(); from = to + 1) {
    to = std::min(text.find_first_of(separators, from), text.size());
    parts.push_back(text.substr(from, to - from));
  }
  return parts;
}

std::string last_line(std::string_view text, std::size_t width) {
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  return shortened(printable(text.substr(text.rfind('\n') + 1)), width);
}

bool is_name(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

std::string_view without_arguments(std::string_view range) {
  for (const char* suffix : {", seq = ", ", op_id = ", ", sizes = "})
    range = range.substr(0, range.find(suffix));
  return range;
}

std::vector<SentencePart> sentence_parts(std::string_view text) {
  std::vector<SentencePart> parts;
  std::size_t from = 0;
  for (std::size_t open = text.find('`'); open != text.npos; open = text.find('`', open)) {
    const std::size_t close = text.find('`', open + 1);
    if (close == text.npos) break;
    if (close == open + 1) {
      open = close;
      continue;
    }
    if (open > from) parts.push_back({text.substr(from, open - from)});
    parts.push_back({text.substr(open + 1, close - open - 1), true});
    from = open = close + 1;
  }
  if (from < text.size()) parts.push_back({text.substr(from)});
  return parts;
}

std::string as_code(const std::string& text) { return text.empty() ? "" : '`' + text + '`'; }

std::string plain_sentence(std::string_view text) {
  std::string plain;
  for (const SentencePart& part : sentence_parts(text)) plain += part.text;
  return plain;
}

std::string with_code_marked(const std::string& text, const std::string& marked) {
  const std::string plain = plain_sentence(marked);
  const std::size_t at = text.find(plain);
  if (at == text.npos) return text;
  return text.substr(0, at) + marked + text.substr(at + plain.size());
}

std::string shell_word(const std::string& word) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace gh
