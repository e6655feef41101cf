// A finding as a rule's `evaluate` returns it, read and checked.
#pragma once
#include "analysis/analysis.hpp"
#include "rules/finding.hpp"
#include "rules/rule.hpp"
#include "whatif/replay.hpp"

struct lua_State;

namespace gh {

/// The finding in the table at `index`. `replay`: what it is worth is told by replaying the steps
/// with its changes; by the rule's own account where it is null. Throws Error where the table
/// breaks the contract.
Finding finding_from_lua(lua_State* lua, int index, const Rule& rule, const RuleSettings& settings,
                         const Analysis& analysis, const StepTime& step, const Replay* replay);

}  // namespace gh
