// JSON as text: what is not replaced stays as it was written, byte for byte.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace gh::scrubbing {

/// How deep brackets nest.
std::size_t depth_of(std::string_view json);

/// The end of the value that begins at `at`.
std::size_t end_of_value(std::string_view json, std::size_t at);

/// What a string literal with its quotation marks means, and back.
std::string text_of_literal(std::string_view literal);
std::string literal_of(const std::string& text);

/// Calls use(text) for each string in JSON text, as it is meant, and puts in what that returns in
/// its place, if anything.
template <class Use>
std::string with_strings(std::string_view json, Use use) {
  std::string out;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t open = std::min(json.find('"', at), json.size());
    out += json.substr(at, open - at);
    if (open == json.size()) break;
    std::size_t close = open + 1;
    while (close < json.size() && json[close] != '"') close += json[close] == '\\' ? 2 : 1;
    close = std::min(close + 1, json.size());
    const std::string_view literal = json.substr(open, close - open);
    if (const auto instead = use(text_of_literal(literal))) {
      out += literal_of(*instead);
    } else {
      out += literal;
    }
    at = close;
  }
  return out;
}

/// Calls use(key, value) for each key of JSON text, and puts in what that returns in place of the
/// value, if anything; else it goes on within.
template <class Use>
std::string with_values(std::string_view json, Use use) {
  std::string out;
  std::size_t written = 0;
  for (std::size_t at = json.find('"'); at < json.size(); at = json.find('"', at)) {
    const std::size_t end = end_of_value(json, at), colon = json.find_first_not_of(" \t\r\n", end);
    const std::string_view key = json.substr(at, end - at);
    at = end;
    if (colon == json.npos || json[colon] != ':' || key.size() < 2) continue;
    const std::size_t value = std::min(json.find_first_not_of(" \t\r\n", colon + 1), json.size()),
                      value_end = end_of_value(json, value);
    if (const auto instead = use(text_of_literal(key), json.substr(value, value_end - value))) {
      out += json.substr(written, value - written);
      out += *instead;
      written = at = value_end;
    } else {
      at = value;
    }
  }
  out += json.substr(written);
  return out;
}

}  // namespace gh::scrubbing
