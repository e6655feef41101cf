// How values cross between Lua and C++: the only helpers by which verbs read what a rule gives them
// and hand back what they found. What has to be checked or charged on the way is checked and
// charged here.
#pragma once
#include <lua.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rules/binding/fields.hpp"
#include "rules/binding/rows.hpp"
#include "rules/sandbox.hpp"

namespace gh::binding {

/// Names in Lua's registry: the metatables of what rules call a selection and `trace`.
constexpr const char* selection_type = "gh.selection";
constexpr const char* trace_type = "gh.trace";

/// Makes the context that `context` finds in this state.
void make_context(lua_State* lua, const ApiHost& host);
Context& context(lua_State* lua);

/// Counts work as so many Lua instructions: see lua_charge.
inline void charge(lua_State* lua, std::size_t instructions) {
  lua_charge(lua, static_cast<std::int64_t>(instructions));
}

// --- To Lua. push_* leave the value on top of the stack; set_* make it a field of the table there.

/// A whole number becomes a Lua integer, which prints without ".0".
void push_number(lua_State* lua, double number);
void push_text(lua_State* lua, std::string_view text);
/// Counts the selection as held by the rule, and charges for it. Throws Error where it holds too
/// many.
void push_rows(lua_State* lua, Rows&& rows);

void set_number(lua_State* lua, const char* key, double number);
void set_integer(lua_State* lua, const char* key, std::int64_t number);
void set_flag(lua_State* lua, const char* key, bool flag);
void set_text(lua_State* lua, const char* key, std::string_view text);
void set_rows(lua_State* lua, const char* key, Rows&& rows);

/// The metamethod __gc of selections.
int collect_rows(lua_State* lua);

/// A list in the making, on top of the stack.
class NewList {
 public:
  explicit NewList(lua_State* lua) : lua_(lua) { lua_newtable(lua); }
  /// Takes the next element from above it.
  void append() { lua_rawseti(lua_, -2, ++size_); }

 private:
  lua_State* lua_;
  lua_Integer size_ = 0;
};

// --- From Lua. What has the wrong type ends in a Lua error or an Error.

/// The selection at `index`. Valid for as long as Lua can reach it.
Rows& checked_rows(lua_State* lua, int index);
/// The field that is named at `index`.
Field checked_field(lua_State* lua, int index);
/// A whole number at `index`, 0 to `most`: what lies outside becomes the nearer of the two.
std::size_t checked_count(lua_State* lua, int index, std::size_t most);
std::size_t optional_count(lua_State* lua, int index, std::size_t otherwise, std::size_t most);

/// Calls take() with each element of the list at `list` on top of the stack, up to the first nil.
/// What take() leaves there is dropped.
template <class Take>
void each_element(lua_State* lua, int list, Take take) {
  list = lua_absindex(lua, list);
  const int top = lua_gettop(lua);
  for (lua_Integer i = 1; lua_rawgeti(lua, list, i) != LUA_TNIL; ++i) {
    take();
    lua_settop(lua, top);
  }
  lua_settop(lua, top);
}

/// Calls take() with each table of such a list on top of the stack, up to the first value that is
/// none, and with `most` of them. What take() leaves there is dropped.
template <class Take>
void each_table(lua_State* lua, int list, std::size_t most, Take take) {
  list = lua_absindex(lua, list);
  const int top = lua_gettop(lua);
  for (std::size_t i = 1; i <= most; ++i) {
    if (lua_rawgeti(lua, list, static_cast<lua_Integer>(i)) != LUA_TTABLE) break;
    take();
    lua_settop(lua, top);
  }
  lua_settop(lua, top);
}

/// The texts among the keys of the table at `table`, in Lua's own order, which differs from run to
/// run. False where another key than a text is among them.
bool text_keys(lua_State* lua, int table, std::vector<std::string>& keys);

// Named arguments, that is fields of the table at `table`; each has a default where the field is
// nil. The first two also take a call without a table.

lua_Number option_number(lua_State* lua, int table, const char* key, lua_Number otherwise);
/// A whole number, 0 to `most`: what lies outside becomes the nearer of the two.
std::size_t option_count(lua_State* lua, int table, const char* key, std::size_t otherwise,
                         std::size_t most);
/// A selection of operations; null where there is none. The table keeps it alive.
const Rows* option_ops(lua_State* lua, int table, const char* key);

/// More bytes, or operations, than anything has: an upper bound for option_count.
constexpr std::size_t boundless = std::size_t{1} << 50;

// --- Calls from Lua

/// A verb leaves its results on the stack and returns how many they are. Its type says which
/// selections it takes: for `a:union_ns()` the one that is asked, for `a:overlap_ns(b)` another.
using TraceVerb = int (*)(lua_State*, const Context&);
using SelectionVerb = int (*)(lua_State*, const Context&, const Rows& asked);
using PairVerb = int (*)(lua_State*, const Context&, const Rows& asked, const Rows& other);

/// What a verb charges for before it begins: one Lua instruction for so many of each; 0 charges
/// nothing for them.
struct Cost {
  unsigned rows = 0;  ///< of the selections that it takes
  unsigned ops = 0, calls = 0, ranges = 0, gpu_faults = 0, samples = 0;  ///< of the whole trace
  unsigned copies = 0;                                                   ///< within the steps
};
std::size_t instructions(const Cost& cost, const Context& c, std::size_t rows);

/// Checks and charges what a verb takes, and calls it.
template <auto run, Cost cost>
int call_verb(lua_State* lua) {
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
    charge(lua, instructions(cost, c, 0));
    return run(lua, c);
  }
}

/// A verb as Lua calls it.
template <auto run, Cost cost = Cost{}>
constexpr lua_CFunction verb = lua_verb<call_verb<run, cost>>;

}  // namespace gh::binding
