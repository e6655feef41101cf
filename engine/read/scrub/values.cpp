#include "read/scrub/values.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "read/scrub/characters.hpp"

namespace gh::scrubbing {

namespace {

// Bytes beyond ASCII belong to letters.
bool is_any_letter(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }

}  // namespace

bool has_letter(std::string_view value) {
  return std::any_of(value.begin(), value.end(), is_any_letter);
}
bool is_of_digits(std::string_view value) {
  return std::all_of(value.begin(), value.end(), is_digit);
}
bool is_of_letters(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) { return is_letter(c) || c == '_'; });
}

bool is_plain(std::string_view value) {
  return std::all_of(value.begin(), value.end(), is_word) &&
         (value.find_first_of("0123456789") == value.npos || value.size() < 12);
}

bool is_file_name(std::string_view value) {
  const std::size_t dot = value.rfind('.');
  return value.find('/') != 0 && dot != value.npos && value.size() - dot <= 6 &&
         std::all_of(value.begin() + static_cast<std::ptrdiff_t>(dot) + 1, value.end(), is_letter);
}

bool is_number(std::string_view value) {
  static const RE2 expression(R"(\d{8,}|\d+\.\d+\.\d+\.\d+(?::\d+)?)");
  return RE2::FullMatch(re2::StringPiece(value.data(), value.size()), expression);
}

bool is_bounded(std::string_view name) {
  return name.size() < 5 || std::all_of(name.begin(), name.end(), is_letter) || is_number(name) ||
         !has_letter(name);
}

std::string_view trimmed(std::string_view value) {
  constexpr const char* spaces = " \t\r\n";
  const std::size_t from = value.find_first_not_of(spaces);
  if (from == value.npos) return "";
  return value.substr(from, value.find_last_not_of(spaces) + 1 - from);
}

std::string_view unquoted(std::string_view value) {
  for (const char quote : {'"', '\''}) {
    if (value.size() >= 2 && value.front() == quote && value.back() == quote) {
      return value.substr(1, value.size() - 2);
    }
  }
  return value;
}

}  // namespace gh::scrubbing
