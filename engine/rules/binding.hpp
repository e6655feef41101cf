// What a rule can ask of a trace from Lua: facts, and selections of events with verbs that run in
// C++. A rule never handles all rows itself. binding/verbs has the verbs; schemas/api.toml, from
// which documentation and editor stubs are generated, says what they do; binding/filters.cpp is the
// table of all filters.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "analysis/facts.hpp"
#include "analysis/step_time.hpp"
#include "analysis/structure/code_owners.hpp"
#include "rules/binding/rows_in_steps.hpp"
#include "rules/finding.hpp"
#include "rules/lua_table.hpp"

namespace gh {

/// One function of the rule API, as schemas/api.toml documents it.
struct ApiEntry {
  std::string name;       ///< "trace:ops", "selection:where", "string.glob"
  std::string signature;  ///< "(filter?) -> selection"; "" for Lua's own functions
  std::string doc;
  std::string deprecated;  ///< what to use instead, if it will go
};
const std::vector<ApiEntry>& api_entries();
/// What that file documents otherwise, as entries without signature: the fields of a "rule", of a
/// "finding" and of a test "case", and what is a "change".
std::vector<ApiEntry> api_entries(const char* tables);

/// What `trace` and selections have, as entries name it.
std::vector<std::string> verb_names();

/// For each deprecated verb that a rule's text calls, what to use instead.
std::vector<std::string> deprecations(const std::string& rule_source);

/// Whether an entry is one of Lua's own ("string.format", "pairs").
inline bool is_plain_lua(const ApiEntry& e) { return e.signature.empty(); }

/// A field of rows, for filters and verbs such as sum, group and top.
struct FieldDoc {
  std::string name;
  bool is_number;    ///< else a text
  std::string rows;  ///< of which selections: "ops, calls"
  std::string doc;
};
const std::vector<FieldDoc>& field_docs();

/// What a rule that runs after the others knows about them.
struct OtherRules {
  std::vector<const Estimated*> found;
  std::set<std::string> asked;  ///< ids of the rules that ran, including its own
};

/// What a rule's functions work on; has to outlive the Lua state.
struct ApiHost {
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
  const StepTime& step;                ///< to which times and shares refer
  const Replay* replay = nullptr;      ///< null if nothing is replayed
  const OtherRules* others = nullptr;  ///< null for a rule that does not run after the others
};

/// Pushes the object that rules call `trace`. Only for use inside LuaSandbox::run.
void push_trace(lua_State* lua, const ApiHost& host);

/// Reads a finding's `evidence`: a list as returned by `selection:evidence`, or nil. Throws Error.
std::vector<Evidence> to_evidence(const LuaTable& finding);

/// Who owns the time of a finding's `owner`, a selection of calls, idle time or operations, or else
/// of what its changes name: those of most time first. Throws Error.
std::vector<CodeOwner> to_owners(const LuaTable& finding, const Changes& changes);

namespace binding {
class ChangeReader;
}

/// One kind of change that a rule may name. The members of its struct (whatif/changes.hpp) are what
/// its table may say.
struct ChangeVerb {
  const char* name;
  Change (*read)(binding::ChangeReader&);  ///< makes the change from that table
};
const std::vector<ChangeVerb>& change_verbs();

/// Reads a finding's `change`, which says what the fix changes: nil, or a list of tables with one
/// of change_verbs each. Throws Error, also if all findings of the rule together name too many
/// rows.
Changes to_changes(const LuaTable& finding);
/// The same of the list at `index`, which messages call `what`.
Changes changes_at(lua_State* lua, int index, const std::string& what);

}  // namespace gh
