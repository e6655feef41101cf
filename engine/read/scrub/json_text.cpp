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
