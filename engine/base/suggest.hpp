// Suggestions for misspelled names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// " (did you mean 'x'?)" with the candidate nearest to `word`, else the only candidate that begins
/// with it, else "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace gh
