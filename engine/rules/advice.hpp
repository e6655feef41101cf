// Advice as a rule's file lists it, and what of it fits a finding.
#pragma once
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/step_time.hpp"
#include "analysis/structure/code_owners.hpp"
#include "rules/finding_message.hpp"
#include "rules/lua_table.hpp"

namespace gh {

/// Throws Error that says what is wrong in the rule's `advice`.
void check_advice(lua_State* lua, const LuaTable& rule);

/// The advice for a finding, the most important first: what the finding itself lists, else what
/// the finding's owner needs, and then the pieces of the rule's `advice` (the rule is at index
/// 1) whose conditions hold, in words for the program and filled as messages are. A piece's `when`
/// names what must be seen, its `unless` what must not: keys of the finding's `seen`, its message,
/// the key of its owner, or "owner" if that has said what to do.
std::vector<FilledMessage> advice_for(lua_State* lua, const LuaTable& finding,
                                      const KnownOwner* owner, const Analysis& analysis,
                                      const StepTime& step);

}  // namespace gh
