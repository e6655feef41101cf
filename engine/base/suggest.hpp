// What a misspelt name may have been meant to be.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace gh {

/// " (did you mean 'x'?)" with the candidate that is nearest to `word`, else the only one that
/// begins with it, or "".
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace gh
