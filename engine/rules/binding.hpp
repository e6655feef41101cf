// What a rule can ask of a trace, from Lua: facts, and selections of events with verbs that run in
// C++. A rule never sees rows in bulk. binding/verbs.cpp is the table of all verbs, from which
// documentation and editor stubs are made; binding/filters.cpp that of all filters.
#pragma once
#include <vector>

#include "analysis/facts.hpp"
#include "rules/binding/rows_in_steps.hpp"
#include "rules/finding.hpp"

struct lua_State;

namespace gh {

/// One function of the rule API.
struct ApiEntry {
  const char* name;       ///< "trace:ops", "selection:where", "string.glob"
  const char* signature;  ///< "(filter?) -> selection"; "" for what Lua itself has
  const char* doc;
};
const std::vector<ApiEntry>& api_entries();

/// Whether an entry is one of Lua's own ("string.format", "pairs") or ours.
inline bool is_plain_lua(const ApiEntry& e) { return *e.signature == '\0'; }

/// What a rule's functions work on; it has to outlive the Lua state.
struct ApiHost {
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
};

/// Pushes the object that rules call `trace`. The state must be a LuaSandbox's.
void push_trace(lua_State* lua, const ApiHost& host);

/// Evidence that rule code put into a table with `selection:evidence`, at `index` of the stack.
/// Throws Error.
std::vector<Evidence> to_evidence(lua_State* lua, int index);

/// One verb of a finding's `change`, in the order of Change::Kind.
struct ChangeVerb {
  const char* name;
  const char* doc;
};
const std::vector<ChangeVerb>& change_verbs();

/// What rule code says that a fix changes, at `index` of the stack: nil, or a list of tables with
/// one of change_verbs each. Throws Error.
Changes to_changes(lua_State* lua, int index);

}  // namespace gh
