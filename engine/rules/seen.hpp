// Which rules were seen to fire on recordings, and how far off their forecasts were where the fix
// was made and measured: schemas/seen.toml, which build/release/tests/calibration --write writes
// from fixtures/.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

struct Seen {
  std::vector<std::string> recordings;       ///< on which the rule finds something
  std::int64_t pairs = 0;                    ///< fixes that were made and measured
  double median_error = 0, worst_error = 0;  ///< of the predicted step, of the measured one
};

/// What was seen of one of the program's own rules; nothing where it never fired, and of a team's.
Seen seen_of(const Rule& rule);

/// "fires on 3 recordings (eager, lora, tf32); over 2 measured fixes the predicted step is 3.4 %
/// off (median), 5.1 % at worst"; "was never seen to fire on a recording".
std::string seen_text(const Rule& rule);

}  // namespace gh
