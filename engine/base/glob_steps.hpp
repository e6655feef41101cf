// Glob matching that reports its cost, for callers that charge it to someone.
#pragma once
#include <cstddef>
#include <string_view>

namespace gh {

/// Like glob_match in patterns.hpp; adds the number of bytes compared to `steps`.
bool glob_match(std::string_view pattern, std::string_view text, std::size_t& steps);

}  // namespace gh
