// What a rule can ask of a trace, from Lua: facts, and selections of events with verbs that run in
// C++. A rule never sees rows in bulk. Every entry is documented here in one table, from which
// documentation and editor stubs are made.
#pragma once
#include <mutex>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "rules/finding.hpp"
#include "trace/row_set.hpp"

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

/// The rows of each kind within the analysed steps: what rules select from. Found once for all of
/// them; several may read at one time.
class RowsInSteps {
 public:
  /// The analysis has to outlive it.
  explicit RowsInSteps(const Analysis& analysis);
  RowSet ops;
  RowSet copies;                   ///< of these
  RowSet calls, ranges, os_calls;  ///< of the processes that are analysed
  RowSet gpu_faults;
  RowSet idle;   ///< of every Idle, one device after the other
  RowSet steps;  ///< of every step, one device after the other; training steps only
  /// All operations of the analysed devices, in and beside the steps, by stream.
  const std::vector<std::vector<Row>>& by_stream() const;
  /// By analysed device: when page faults of unified memory were handled, or pages migrated.
  const std::vector<Spans>& stalls() const;

 private:
  const Analysis& a_;
  mutable std::once_flag by_stream_found_, stalls_found_;
  mutable std::vector<std::vector<Row>> by_stream_;
  mutable std::vector<Spans> stalls_;
};

/// What a rule's functions work on; it has to outlive the Lua state.
struct ApiHost {
  const Analysis& analysis;
  const Facts& facts;
  const RowsInSteps& in_steps;
};

/// Pushes the object that rules call `trace`. The state must be a LuaSandbox's.
void push_trace(lua_State* lua, const ApiHost& host);

/// Evidence that rule code put into a table with `selection:evidence`, at `index` of the stack.
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
