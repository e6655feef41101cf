// The JSON that we write and read.
#pragma once
#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_forward.hpp"

namespace gh {

/// Limits for a document. Much of the code that handles JSON recurses, and a value takes more
/// memory than its text.
struct JsonLimits {
  int levels = 64;  ///< ours have fewer than ten
  std::size_t values = 1'000'000;
};

/// Parses an untrusted document. Throws Json::exception if it is not JSON, and Error if it exceeds
/// the limits.
Json parsed_json(std::string_view text, const JsonLimits& limits = {});

/// The program and its version, which wrote a document: "gh-advise 0.1.0".
std::string generator();

/// A whole number where it is one, as far as a double holds those exactly: "3" rather than "3.0".
Json number_json(double value);

/// A field that does not apply is null.
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }
template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// The list of what `json_of` makes of each item.
template <class Items, class JsonOf>
Json json_list(const Items& items, JsonOf json_of) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

}  // namespace gh
