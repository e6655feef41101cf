// The JSON that we write and read, for headers that only name it: a file that includes its library
// takes 0.8 s longer to compile (g++ 12, -fsyntax-only).
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace gh {

/// Keeps keys in the order written, so that two runs print the same bytes.
using Json = nlohmann::ordered_json;

}  // namespace gh
