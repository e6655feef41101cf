// On which recordings rules fire, and how far off their forecasts were if the fix was made and
// measured: schemas/seen.toml, which build/release/tests/calibration --write generates from
// fixtures/.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

struct Seen {
  std::vector<std::string> recordings;  ///< on which the rule finds something
  std::int64_t pairs = 0;               ///< fixes that were made and measured
  double median_error = 0,
         worst_error = 0;  ///< of the predicted step, relative to the measured one
};

/// What is known about a built-in rule; empty if it never fired, and for a team's rule.
Seen seen_of(const Rule& rule);

/// "fires on 3 recordings (eager, lora, tf32); over 2 measured fixes the predicted step was 3.4 %
/// off (median), 5.1 % at worst"; "has never fired on a test recording".
std::string seen_text(const Rule& rule);

}  // namespace gh
