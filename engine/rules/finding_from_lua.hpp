// Reads and checks a finding that a rule's `evaluate` returned.
#pragma once
#include "analysis/analysis.hpp"
#include "rules/finding.hpp"
#include "rules/rule.hpp"
#include "whatif/replay.hpp"

struct lua_State;

namespace gh {

/// The finding in the table at `index`. `replay`: only its steps remain in the finding's changes;
/// null for all. Throws Error if the table violates the contract.
Said finding_from_lua(lua_State* lua, int index, const Rule& rule, const RuleSettings& settings,
                      const Analysis& analysis, const StepTime& step, const Replay* replay);

}  // namespace gh
