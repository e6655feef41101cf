// The functions that rules call instead of Lua's, and additional ones.
#pragma once
#include <lua.hpp>

#include <string_view>

#include "rules/sandbox/meter.hpp"

namespace gh::sandbox {

/// lua_CFunction that creates the globals of a state: library.cpp lists them.
int open_library(lua_State* lua);

// If one of these wraps a Lua function, that is upvalue 1 and runs in our frame, so that its errors
// name the rule's line.
inline int original(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

/// Charges work as instructions before it is done. Ends the rule if they are used up: Lua's hook
/// sees no C or C++ function, nor what such functions call.
inline void spend(lua_State* lua, std::int64_t instructions) {
  Meter& meter = Meter::of(lua);
  meter.spend(instructions);
  meter.raise_if_stopped();
}

/// Charges for a function's arguments: Lua's functions read each of them at most once.
void spend_on_arguments(lua_State* lua);

/// A function as rules call it, from anywhere: Lua code, a sort, a metamethod, pcall.
template <lua_CFunction function>
int metered(lua_State* lua) {
  spend_on_arguments(lua);
  return function(lua);
}

/// The text at `index`; a Lua error if there is none.
inline std::string_view to_view(lua_State* lua, int index) {
  std::size_t length = 0;
  const char* text = luaL_checklstring(lua, index, &length);
  return {text, length};
}

/// Pushes the value at `index` as text. Unlike Lua's version, without addresses.
void push_text(lua_State* lua, int index);

/// For functions whose work is the results that they return (at most a million: Lua's stack).
int original_by_results(lua_State* lua);

// base.cpp
int getmetatable(lua_State* lua);
int setmetatable(lua_State* lua);
int pcall(lua_State* lua);
int xpcall(lua_State* lua);
int tostring(lua_State* lua);

// require.cpp
int require(lua_State* lua);

// order.cpp
int ipairs(lua_State* lua);
int next(lua_State* lua);
int pairs(lua_State* lua);
int sort(lua_State* lua);

// table.cpp
int concat(lua_State* lua);
int insert(lua_State* lua);
int remove(lua_State* lua);
int unpack(lua_State* lua);
/// The length of the table at 1; a Lua error if the table has metamethods that affect it.
lua_Integer checked_length(lua_State* lua);

// string.cpp
int format(lua_State* lua);
int rep(lua_State* lua);
int glob(lua_State* lua);
int shorten(lua_State* lua);
int split(lua_State* lua);
int starts_with(lua_State* lua);

}  // namespace gh::sandbox
