// The JSON that we write and read.
#pragma once
#include <nlohmann/json.hpp>

#include <cstddef>
#include <string_view>

namespace gh {

/// Keeps keys in the order written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

/// Limits for a document. Much of the code that handles JSON recurses, and a value takes more
/// memory than its text.
struct JsonLimits {
  int levels = 64;  ///< ours have fewer than ten
  std::size_t values = 1'000'000;
};

/// Parses an untrusted document. Throws Json::exception if it is not JSON, and Error if it exceeds
/// the limits.
Json parsed_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace gh
