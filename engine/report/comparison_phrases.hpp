// What a comparison says in every format for people.
#pragma once
#include <string>
#include <vector>

#include "gate/comparison.hpp"

namespace gh {

/// "+1.2 ms", "-340 us".
std::string signed_ns(double ns);

/// Whether a change of a step's time is worth a line: what is small beside the step is no news.
bool matters(double change_ns, const Comparison& comparison);

/// What a finding costs: "12.3 ms -> 15.1 ms a step", "at most 12.3 ms a step", or "".
std::string change_worth_text(const FindingChange& finding, const UnitWords& unit);

/// ", which does not count" after a step's change that is noise, ", neither proved nor ruled out"
/// after one that is open; otherwise "".
const char* step_noise_text(const Comparison& comparison);

/// The exceptions that were looked at, and what became of each.
std::vector<std::string> suppression_lines(const Comparison& comparison);

}  // namespace gh
