#include "read/scrub/json_text.hpp"

#include <nlohmann/json.hpp>

namespace gh::scrubbing {

using nlohmann::json;

std::size_t depth_of(std::string_view json) {
  std::size_t depth = 0, deepest = 0;
  for (const char c : json) {
    if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      depth -= depth > 0;
    }
  }
  return deepest;
}

std::size_t end_of_value(std::string_view json, std::size_t at) {
  int depth = 0;
  for (bool in_string = false; at < json.size(); ++at) {
    const char c = json[at];
    if (in_string) {
      if (c == '\\') {
        ++at;
      } else if (c == '"') {
        in_string = false;
      }
      if (in_string || depth > 0) continue;
      return std::min(at + 1, json.size());
    }
    if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']' || c == ',') && depth == 0) {
      return at;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return at + 1;
    }
  }
  return json.size();
}

std::optional<Member> next_member(std::string_view object, std::size_t& at) {
  constexpr const char* spaces = " \t\r\n";
  const auto behind_spaces = [&](std::size_t from) {
    return std::min(object.find_first_not_of(spaces, from), object.size());
  };
  const auto has = [&](std::size_t where, char c) {
    return where < object.size() && object[where] == c;
  };
  const bool first = at == 0 && object.starts_with('{');
  std::size_t key = behind_spaces(first ? 1 : at);
  if ((first || has(at, '}')) && has(key, '}')) return std::nullopt;
  const std::size_t key_end = end_of_value(object, key), colon = behind_spaces(key_end);
  const std::size_t value = behind_spaces(colon + 1), end = end_of_value(object, value),
                    next = behind_spaces(end);
  const bool is_member = (first || at > 0) && has(key, '"') && key_end - key >= 2 &&
                         has(colon, ':') && end > value && (has(next, ',') || has(next, '}'));
  if (!is_member) {
    at = object.npos;
    return std::nullopt;
  }
  at = has(next, ',') ? next + 1 : next;
  return Member{object.substr(key, key_end - key), object.substr(key, value - key),
                object.substr(value, end - value)};
}

std::string text_of_literal(std::string_view literal) {
  std::string text(literal.substr(1, literal.size() > 1 ? literal.size() - 2 : 0));
  if (text.find('\\') != text.npos) {
    if (const json parsed = json::parse(literal, nullptr, false); parsed.is_string()) {
      return parsed.get<std::string>();
    }
  }
  return text;
}

std::string literal_of(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace gh::scrubbing
