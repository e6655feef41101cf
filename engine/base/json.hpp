// JSON: what we write, and what we read back of it.
#pragma once
#include <nlohmann/json.hpp>

#include <string_view>

namespace gh {

/// Keys stay in the order in which they are written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

/// The JSON of a document that anybody may have made. Throws Json::exception where it is none, and
/// Error where it is nested deeper than any of ours, since many things that are done with JSON
/// recurse.
Json parsed_json(std::string_view text);

}  // namespace gh
