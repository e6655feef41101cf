// The JSON that we write.
#pragma once
#include <nlohmann/json.hpp>

namespace gh {

/// Keys stay in the order in which they are written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

}  // namespace gh
