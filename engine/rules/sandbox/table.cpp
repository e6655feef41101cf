// The table library.
#include <algorithm>

#include "rules/sandbox/library.hpp"

namespace gh::sandbox {
namespace {

// 64 MiB of values: anything longer only pretends to be.
constexpr lua_Unsigned max_elements = 1u << 22;

// insert and remove: the elements after the position move, if one is given.
int shift(lua_State* lua, int arguments_with_position) {
  const lua_Integer length = checked_length(lua);
  if (lua_gettop(lua) >= arguments_with_position) {
    const lua_Integer position = luaL_optinteger(lua, 2, length);
    spend(lua, length - std::clamp<lua_Integer>(position, 0, length));
  }
  return original(lua);
}

}  // namespace

// The table has to be plain: Lua's table functions run without a hook, and __len, or a table that
// only has the keys 1, 2, 4, 8, ..., can claim any length. A chain of __index takes 2000 lookups
// for each element.
lua_Integer checked_length(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  for (const char* field : {"__index", "__newindex", "__len"}) {
    if (luaL_getmetafield(lua, 1, field) != LUA_TNIL) {
      luaL_error(lua, "table functions do not accept a table with %s", field);
    }
  }
  const lua_Unsigned length = lua_rawlen(lua, 1);
  if (length > max_elements) luaL_error(lua, "table too large");
  return static_cast<lua_Integer>(length);
}

int insert(lua_State* lua) { return shift(lua, 3); }
int remove(lua_State* lua) { return shift(lua, 2); }

int unpack(lua_State* lua) {
  checked_length(lua);
  lua_settop(lua, 3);
  return original_by_results(lua);
}

int concat(lua_State* lua) {
  spend(lua, checked_length(lua));
  return original(lua);
}

}  // namespace gh::sandbox
