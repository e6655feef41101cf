// What matching a glob costs, for those who let others pay.
#pragma once
#include <cstddef>
#include <string_view>

namespace gh {

/// glob_match of patterns.hpp; adds to `steps` how many bytes were compared.
bool glob_match(std::string_view pattern, std::string_view text, std::size_t& steps);

}  // namespace gh
