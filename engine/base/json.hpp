// JSON: what we write, and what we read back of it.
#pragma once
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace gh {

/// Keys stay in the order in which they are written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

/// What a document may hold. Many things that are done with JSON recurse, and a value takes more
/// memory than its text.
struct JsonLimits {
  int levels = 64;  ///< ours have less than ten
  std::size_t values = 1'000'000;
};

/// The JSON of a document that anybody may have made. Throws Json::exception where it is none, and
/// Error where it exceeds the limits.
Json parsed_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace gh
