// What a comparison says in every format for people.
#pragma once
#include <string>
#include <vector>

#include "gate/comparison.hpp"

namespace gh {

/// "+1.2 ms", "-340 us".
std::string signed_ns(double ns);

/// Whether a change is large enough, compared with the step, to get a line.
bool matters(double change_ns, const Comparison& comparison);

/// A part of the step, before and now: a cause of the account, or what the step waits for.
struct ChangedPart {
  std::string label;
  const Difference* ns;
};
/// Their labels have at most so many letters.
std::vector<ChangedPart> changed_causes(const Comparison& comparison);
std::vector<ChangedPart> changed_waits(const Comparison& comparison, std::size_t most_letters);

/// What a finding costs: "12.3 ms -> 15.1 ms a step", "at most 12.3 ms a step", or "".
std::string change_worth_text(const FindingChange& finding, const UnitWords& unit);

/// ", too little to count" after a change of the step that is noise, ", not proved" after one that
/// is open; otherwise "".
const char* step_noise_text(const Comparison& comparison);

/// The suppressions and exceptions whose rule ran, and the state of each.
std::vector<std::string> suppression_lines(const Comparison& comparison);

}  // namespace gh
