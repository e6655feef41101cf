// How values pass between Lua and C++: the only helpers with which verbs read what a rule passes
// and return results. Everything that has to be checked or charged on the way is checked and
// charged here.
#pragma once
#include <lua.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rules/binding/fields.hpp"
#include "rules/binding/rows.hpp"
#include "rules/lua_table.hpp"
#include "rules/sandbox.hpp"

namespace gh::binding {

/// Keys in Lua's registry: the metatables of selections and of `trace`.
constexpr const char* selection_type = "gh.selection";
constexpr const char* trace_type = "gh.trace";

/// Makes the context that `context` finds in this state.
void make_context(lua_State* lua, const ApiHost& host);
Context& context(lua_State* lua);

/// The cost of matching a pattern against a text: at worst each byte of one against each of the
/// other.
inline std::size_t glob_cost(std::string_view glob, std::string_view text) {
  return glob.size() * text.size() / 64;
}

/// Charges work as Lua instructions: see lua_spend. Throws Error if they are used up.
inline void charge(lua_State* lua, std::size_t instructions) {
  lua_spend(lua, static_cast<std::int64_t>(instructions));
}

// --- To Lua. push_* leave the value on top of the stack; set_* make it a field of the table there.

/// A whole number becomes a Lua integer, which prints without ".0".
void push_number(lua_State* lua, double number);
void push_text(lua_State* lua, std::string_view text);
/// Counts the selection as held by the rule, and charges for it. Throws Error if the rule holds too
/// many.
void push_rows(lua_State* lua, Rows&& rows);

void set_number(lua_State* lua, const char* key, double number);
void set_integer(lua_State* lua, const char* key, std::int64_t number);
void set_flag(lua_State* lua, const char* key, bool flag);
void set_text(lua_State* lua, const char* key, std::string_view text);
void set_rows(lua_State* lua, const char* key, Rows&& rows);

/// The metamethod __gc of selections.
int collect_rows(lua_State* lua);

/// A list under construction, on top of the stack.
class NewList {
 public:
  explicit NewList(lua_State* lua) : lua_(lua) { lua_newtable(lua); }
  /// Takes the next element from above the list.
  void append() { lua_rawseti(lua_, -2, ++size_); }

 private:
  lua_State* lua_;
  lua_Integer size_ = 0;
};

// --- From Lua. A value of the wrong type ends in a Lua error or an Error.

/// Raises a Lua error if the verb was not called on `trace` with a colon.
void check_trace(lua_State* lua);
/// The selection at `index`. Valid as long as Lua can reach it.
Rows& checked_rows(lua_State* lua, int index);
/// The same for a value that is not an argument of a verb: throws Error that calls it `what`.
Rows& selection_at(lua_State* lua, int index, const std::string& what);
/// The field named at `index`.
Field checked_field(lua_State* lua, int index);
/// A whole number at `index`, clamped to 0 to `most`.
std::size_t checked_count(lua_State* lua, int index, std::size_t most);
std::size_t optional_count(lua_State* lua, int index, std::size_t otherwise, std::size_t most);

/// The text at `index`, printable.
std::string checked_text(lua_State* lua, int index);
/// The pattern at `index`, of at most most_glob_bytes; like a shell's, see glob_match.
std::string checked_glob(lua_State* lua, int index);
/// Field `key` of a table: a pattern or a list of patterns.
std::vector<std::string> globs_in(const LuaTable& table, const char* key);
/// Field `key` of a table: a selection of operations; null if there is none. The table keeps it
/// alive as long as no code of the rule runs, that is until the verb returns.
const Rows* ops_in(const LuaTable& table, const char* key);
/// A verb's named arguments: the table at `index`, or nothing; only `names` are allowed. Messages
/// name `verb`.
std::optional<LuaTable> named_arguments(lua_State* lua, int index, const char* verb,
                                        const std::vector<std::string>& names);

/// A rule's patterns are matched against every name of a trace.
constexpr std::size_t most_glob_bytes = 1024, most_globs = 200;

/// More than any number of bytes or operations: an upper bound for option_count.
constexpr std::size_t boundless =
    std::min<std::uint64_t>(std::uint64_t{1} << 50, std::numeric_limits<std::size_t>::max());

// --- Calls from Lua

/// A verb leaves its results on the stack and returns their number. Its type says which selections
/// it takes: for `a:union_ns()` the receiver, for `a:overlap_ns(b)` also another one.
using TraceVerb = int (*)(lua_State*, const Context&);
using SelectionVerb = int (*)(lua_State*, const Context&, const Rows& asked);
using PairVerb = int (*)(lua_State*, const Context&, const Rows& asked, const Rows& other);

/// What a verb charges before it begins, in addition to one instruction for the call: one Lua
/// instruction for this many of each; 0 charges nothing for them.
struct Cost {
  unsigned rows = 0;  ///< of the selections that it takes
  unsigned ops = 0, calls = 0, ranges = 0, gpu_faults = 0, samples = 0;  ///< of the whole trace
  unsigned copies = 0;                                                   ///< within the steps
};
std::size_t instructions(const Cost& cost, const Context& c, std::size_t rows);

/// Checks and charges a verb's arguments, and calls it with room for LUA_MINSTACK values.
template <auto run, Cost cost>
int call_verb(lua_State* lua) {
  luaL_checkstack(lua, LUA_MINSTACK, nullptr);
  const Context& c = context(lua);
  if constexpr (std::is_convertible_v<decltype(run), PairVerb>) {
    const Rows &asked = checked_rows(lua, 1), &other = checked_rows(lua, 2);
    charge(lua, instructions(cost, c, asked.rows.size() + other.rows.size()));
    return run(lua, c, asked, other);
  } else if constexpr (std::is_convertible_v<decltype(run), SelectionVerb>) {
    const Rows& asked = checked_rows(lua, 1);
    charge(lua, instructions(cost, c, asked.rows.size()));
    return run(lua, c, asked);
  } else {
    check_trace(lua);
    charge(lua, instructions(cost, c, 0));
    return run(lua, c);
  }
}

/// A verb as Lua calls it.
template <auto run, Cost cost = Cost{}>
constexpr lua_CFunction verb = lua_verb<call_verb<run, cost>>;

}  // namespace gh::binding
