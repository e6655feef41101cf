#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace support {

// A part of a Lua source: a name or number, a text without its quotes, or a single sign.
struct LuaToken {
  std::string text;
  int line;
  bool quoted = false;

  bool is_number() const {
    return !quoted && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  }
  bool is_sign(const char* sign) const { return !quoted && text == sign; }
};

// Without blanks and comments. Texts are those in single or double quotes; \z takes the blanks
// behind it away, as in Lua.
inline std::vector<LuaToken> lua_tokens(const std::string& source) {
  std::vector<LuaToken> tokens;
  int line = 1;
  const auto is_word = [&](std::size_t i) {
    return i < source.size() &&
           (std::isalnum(static_cast<unsigned char>(source[i])) || source[i] == '_');
  };
  const auto is_blank = [&](std::size_t i) {
    return i < source.size() && std::isspace(static_cast<unsigned char>(source[i])) != 0;
  };
  for (std::size_t i = 0; i < source.size();) {
    if (is_blank(i)) {
      line += source[i++] == '\n';
    } else if (source.compare(i, 2, "--") == 0) {
      i = std::min(source.find('\n', i), source.size());
    } else if (source[i] == '"' || source[i] == '\'') {
      LuaToken text{"", line, true};
      const char quote = source[i];
      for (++i; i < source.size() && source[i] != quote; ++i) {
        if (source.compare(i, 2, "\\z") == 0) {
          for (++i; is_blank(i + 1); ++i) line += source[i + 1] == '\n';
          continue;
        }
        i += source[i] == '\\';
        text.text += source[i];
      }
      ++i;
      tokens.push_back(std::move(text));
    } else {
      const std::size_t from = i;
      const bool number = std::isdigit(static_cast<unsigned char>(source[i])) != 0;
      do {
        ++i;
      } while (is_word(from) && (is_word(i) || (number && i < source.size() &&
                                                ((source[i] == '.' && is_word(i + 1)) ||
                                                 (source[i] == '-' && source[i - 1] == 'e')))));
      tokens.push_back({source.substr(from, i - from), line});
    }
  }
  return tokens;
}

}  // namespace support
