// What a report says of findings that [[suppress]] hides.
#pragma once
#include <string>
#include <vector>

#include "rules/rules.hpp"

namespace gh {

/// For each suppression in use: "data-loader-starvation: the new loader lands in May, until
/// 2026-12-31 (gh-advise.toml:3); saves about 113.3 ms a step".
std::vector<std::string> suppressed_lines(const Analysis& analysis, const Report& report);

/// "The largest loss is suppressed: TITLE (RULE, saves about 113.3 ms a step)."; "" if nothing
/// above a note is suppressed.
std::string suppressed_verdict(const Analysis& analysis, const Report& report);

}  // namespace gh
