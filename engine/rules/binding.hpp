// What a rule can ask of a trace, from Lua: facts, and selections of events with verbs that run in
// C++. A rule never sees rows in bulk. binding/verbs.cpp is the table of all verbs, from which
// documentation and editor stubs are made; binding/filters.cpp that of all filters.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "analysis/facts.hpp"
#include "analysis/step_time.hpp"
#include "rules/binding/rows_in_steps.hpp"
#include "rules/finding.hpp"
#include "rules/lua_table.hpp"

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

/// A field of rows, for filters and verbs such as sum, group and top.
struct FieldDoc {
  const char* name;
  bool is_number;    ///< else a text
  const char* rows;  ///< of which selections: "ops, calls"
  const char* doc;
};
const std::vector<FieldDoc>& field_docs();

/// What a rule that comes after the others is told of them.
struct OtherRules {
  std::vector<Finding> found;
  std::set<std::string> asked;  ///< ids, its own too
};

/// What a rule's functions work on; it has to outlive the Lua state.
struct ApiHost {
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
  const StepTime& step;                ///< by which times and shares are told
  const OtherRules* others = nullptr;  ///< null for a rule that does not come after them
};

/// Pushes the object that rules call `trace`. For use inside of LuaSandbox::run.
void push_trace(lua_State* lua, const ApiHost& host);

/// What rule code gives as a finding's `evidence`: a list as `selection:evidence` makes it, or nil.
/// Throws Error.
std::vector<Evidence> to_evidence(const LuaTable& finding);

/// One verb of a finding's `change`, in the order of Change::Kind.
struct ChangeVerb {
  const char* name;
  const char* doc;
};
const std::vector<ChangeVerb>& change_verbs();

/// What rule code says that a fix changes, a finding's `change`: nil, or a list of tables with one
/// of change_verbs each. Throws Error, also where all findings of the rule name too many rows.
Changes to_changes(const LuaTable& finding);

}  // namespace gh
