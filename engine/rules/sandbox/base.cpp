// The base library: errors, metatables, texts.
#include <lua.hpp>

#include "rules/sandbox/library.hpp"
#include "rules/sandbox/meter.hpp"

namespace gh::sandbox {
namespace {

// What catching a C++ exception costs, as which Lua raises its errors.
constexpr std::int64_t throw_instructions = 200;

// lua_pcall that lets the end of a limit pass.
bool call_protected(lua_State* lua, int arguments, int results) {
  const int status = lua_pcall(lua, arguments, results, 0);
  if (status == LUA_OK) return true;
  Meter& meter = Meter::of(lua);
  if (meter.is_final(status)) meter.raise();
  meter.charge(throw_instructions);
  return false;
}

void set_false(lua_State* lua, int index) {
  lua_pushboolean(lua, 0);
  lua_replace(lua, index);
}

}  // namespace

int pcall(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (!call_protected(lua, lua_gettop(lua) - 2, LUA_MULTRET)) set_false(lua, 1);
  return lua_gettop(lua);
}

// Calls the handler once the call has unwound. Lua calls it where the error is raised, and with
// hooks off if that was in a hook: an endless handler of an endless loop would never be stopped.
int xpcall(lua_State* lua) {
  luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_pushboolean(lua, 1);
  lua_pushvalue(lua, 1);
  lua_rotate(lua, 3, 2);  // function, handler, true, function, arguments...
  if (!call_protected(lua, lua_gettop(lua) - 4, LUA_MULTRET)) {
    lua_pushvalue(lua, 2);
    lua_insert(lua, 4);
    call_protected(lua, 1, 1);
    set_false(lua, 3);
  }
  return lua_gettop(lua) - 2;
}

// No __gc: Lua runs finalizers with hooks off, so one that loops would never be stopped. (One added
// to a metatable later has no effect.)
int setmetatable(lua_State* lua) {
  if (lua_istable(lua, 2)) {
    lua_pushliteral(lua, "__gc");
    if (lua_rawget(lua, 2) != LUA_TNIL) luaL_error(lua, "a metatable may not have __gc");
    lua_pop(lua, 1);
  }
  return original(lua);
}

// Only for tables: through the metatable of strings a rule could change what all strings do, and
// through that of a verb's userdata call its methods, __gc too, on something else.
int getmetatable(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_istable(lua, 1)) return original(lua);
  lua_pushnil(lua);
  return 1;
}

void push_text(lua_State* lua, int index) {
  luaL_checkany(lua, index);
  if (luaL_callmeta(lua, index, "__tostring") != 0) {
    if (lua_isstring(lua, -1) == 0) luaL_error(lua, "'__tostring' must return a string");
    return;
  }
  switch (lua_type(lua, index)) {
    case LUA_TNIL:
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
    case LUA_TSTRING: luaL_tolstring(lua, index, nullptr); break;
    default: lua_pushstring(lua, luaL_typename(lua, index));
  }
}

int tostring(lua_State* lua) {
  push_text(lua, 1);
  return 1;
}

}  // namespace gh::sandbox
