// The JSON that we write and read, for headers that only name it: its library takes a second of
// every file that includes it.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace gh {

/// Keeps keys in the order written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

}  // namespace gh
