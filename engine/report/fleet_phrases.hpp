// What a fleet says in every format for people (the sentences that others call are in report.hpp).
#pragma once
#include <string>
#include <vector>

#include "job/fleet.hpp"

namespace gh {

/// " on node7"; "" where the node is not known.
std::string on_node(const FleetRank& rank);

/// "rank 3", "ranks 0-7, 12".
std::string ranks_label(const std::vector<std::int64_t>& ranks);

/// Whether the rule found anything on any rank.
bool found_any(const Fleet& fleet, const std::string& rule);

/// "saves at most 12.3 ms of the job's 160.1 ms step (8 %)"; "" where nothing is known to be
/// recoverable.
std::string fleet_saves_text(const Fleet& fleet, const Finding& finding);

/// Why the plan's steps are ceilings.
std::string fleet_plan_note(const Fleet& fleet);

}  // namespace gh
