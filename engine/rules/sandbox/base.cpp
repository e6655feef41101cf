// The base library: errors, metatables, texts.
#include <lua.hpp>

#include <iterator>

#include "rules/sandbox/library.hpp"
#include "rules/sandbox/meter.hpp"

namespace gh::sandbox {
namespace {

// The cost of catching a C++ exception, which is how Lua raises errors.
constexpr std::int64_t throw_instructions = 200;

// Like lua_pcall, but does not catch exhausted limits.
bool call_protected(lua_State* lua, int arguments, int results) {
  const int status = lua_pcall(lua, arguments, results, 0);
  if (status == LUA_OK) return true;
  Meter& meter = Meter::of(lua);
  if (meter.is_final(status)) meter.raise();
  spend(lua, throw_instructions);
  return false;
}

// Metamethods that Lua or this code uses.
constexpr const char* metamethods[] = {
    "__add",    "__band", "__bnot",     "__bor",  "__bxor",      "__call", "__close",
    "__concat", "__div",  "__eq",       "__idiv", "__index",     "__le",   "__len",
    "__lt",     "__mod",  "__mul",      "__name", "__newindex",  "__pow",  "__shl",
    "__shr",    "__sub",  "__tostring", "__unm",  "__metatable",
};
constexpr const char* protected_field = "protected";  // in a copy: the rule set __metatable

// Rejects what Lua runs with hooks off or at a cost that no hook limits: finalizers, weak tables
// (whose collection may take quadratic time), and cyclic chains of __call.
void check_metatable(lua_State* lua, int index) {
  for (const char* refused : {"__gc", "__mode"}) {
    lua_pushstring(lua, refused);
    if (lua_rawget(lua, index) != LUA_TNIL) luaL_error(lua, "a metatable may not have %s", refused);
    lua_pop(lua, 1);
  }
  lua_pushliteral(lua, "__call");
  const int call = lua_rawget(lua, index);
  if (call != LUA_TNIL && call != LUA_TFUNCTION) luaL_error(lua, "'__call' must be a function");
  lua_pop(lua, 1);
}

void push_copied_metatable(lua_State* lua, int index) {
  check_metatable(lua, index);
  spend(lua, std::size(metamethods));
  lua_newtable(lua);
  for (const char* name : metamethods) {
    lua_pushstring(lua, name);
    if (lua_rawget(lua, index) == LUA_TNIL) {
      lua_pop(lua, 1);
    } else {
      lua_setfield(lua, -2, name);
    }
  }
  const bool is_protected = lua_getfield(lua, -1, "__metatable") != LUA_TNIL;
  lua_pop(lua, 1);
  lua_pushvalue(lua, index);  // for getmetatable
  lua_setfield(lua, -2, is_protected ? protected_field : "__metatable");
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

// Calls the handler after the call has unwound. Lua would call it where the error is raised, with
// hooks off if that was in a hook: an endless handler of an endless loop would never stop.
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

// Gives the table a copy of the metatable that the rule cannot reach: later changes to the original
// have no effect.
int setmetatable(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  if (!lua_isnil(lua, 2)) luaL_checktype(lua, 2, LUA_TTABLE);
  lua_settop(lua, 2);
  if (luaL_getmetafield(lua, 1, protected_field) != LUA_TNIL) {
    luaL_error(lua, "cannot change a protected metatable");
  }
  if (lua_istable(lua, 2)) push_copied_metatable(lua, 2);
  lua_setmetatable(lua, 1);
  lua_settop(lua, 1);
  return 1;
}

// Only for tables. Through the metatable of strings, a rule could change what all strings do;
// through that of a verb's userdata, it could call methods, including __gc, on something else.
int getmetatable(lua_State* lua) {
  luaL_checkany(lua, 1);
  if (lua_istable(lua, 1)) return original(lua);  // __metatable: what the copy was made from
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
