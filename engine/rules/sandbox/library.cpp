// The globals that a rule can use; other names do not exist. The verbs in binding/verbs.cpp
// document what a rule should know about them.
#include "rules/sandbox/library.hpp"

#include "rules/sandbox.hpp"

namespace gh::sandbox {
namespace {

// A name from one of Lua's libraries to keep: unchanged, wrapped, or replaced.
struct Function {
  const char* name;
  lua_CFunction ours = metered<original>;
};

constexpr Function base[] = {
    {"assert"},
    {"error"},
    {"getmetatable", metered<getmetatable>},
    {"ipairs", metered<ipairs>},
    {"next", metered<next>},
    {"pairs", metered<pairs>},
    {"pcall", metered<pcall>},
    {"rawequal"},
    {"rawget"},
    {"rawlen"},
    {"require", lua_verb<metered<require>>},
    {"select"},
    {"setmetatable", metered<setmetatable>},
    {"tonumber"},
    {"tostring", metered<tostring>},
    {"type"},
    {"xpcall", metered<xpcall>},
};

// No random, no randomseed.
constexpr Function math[] = {
    {"abs"}, {"acos"},       {"asin"}, {"atan"}, {"ceil"}, {"cos"}, {"deg"},
    {"exp"}, {"floor"},      {"fmod"}, {"huge"}, {"log"},  {"max"}, {"maxinteger"},
    {"min"}, {"mininteger"}, {"modf"}, {"pi"},   {"rad"},  {"sin"}, {"sqrt"},
    {"tan"}, {"tointeger"},  {"type"}, {"ult"},
};

constexpr Function table[] = {
    {"concat", metered<concat>}, {"insert", metered<insert>}, {"pack"},
    {"remove", metered<remove>}, {"sort", metered<sort>},     {"unpack", metered<unpack>},
};

// No find, match, gmatch, gsub: a backtracking pattern is C code that no hook interrupts.
constexpr Function string[] = {
    {"byte", metered<original_by_results>},
    {"char"},
    {"format", metered<format>},
    {"glob", metered<glob>},
    {"len"},
    {"lower"},
    {"rep", metered<rep>},
    {"reverse"},
    {"short", metered<shorten>},
    {"split", metered<split>},
    {"starts_with", metered<starts_with>},
    {"sub"},
    {"upper"},
};

// Opens one of Lua's libraries and pushes a table with only the functions listed.
template <std::size_t count>
void push_library(lua_State* lua, lua_CFunction open, const Function (&functions)[count]) {
  lua_pushcfunction(lua, open);
  lua_call(lua, 0, 1);
  lua_newtable(lua);
  for (const Function& f : functions) {
    // Nil for names that Lua does not have; numbers stay as they are.
    if (lua_getfield(lua, -2, f.name) != LUA_TNUMBER) lua_pushcclosure(lua, f.ours, 1);
    lua_setfield(lua, -2, f.name);
  }
  lua_remove(lua, -2);
}

// Replaces the metatable of strings, which leads to Lua's whole string table, with one for the
// table on top of the stack.
void set_string_metatable(lua_State* lua) {
  lua_pushliteral(lua, "");
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, -3);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_pop(lua, 1);
}

}  // namespace

void spend_on_arguments(lua_State* lua) {
  constexpr std::size_t bytes_an_instruction = 16;
  const int count = lua_gettop(lua);
  std::size_t bytes = 0;
  for (int i = 1; i <= count; ++i) {
    if (lua_type(lua, i) == LUA_TSTRING) bytes += lua_rawlen(lua, i);
  }
  spend(lua, 1 + count / 2 + static_cast<std::int64_t>(bytes / bytes_an_instruction));
}

int original_by_results(lua_State* lua) {
  const int results = original(lua);
  spend(lua, results);
  return results;
}

int open_library(lua_State* lua) {
  push_library(lua, luaopen_base, base);
  push_library(lua, luaopen_math, math);
  lua_setfield(lua, -2, "math");
  push_library(lua, luaopen_table, table);
  lua_setfield(lua, -2, "table");
  push_library(lua, luaopen_string, string);
  set_string_metatable(lua);
  lua_setfield(lua, -2, "string");
  lua_pushvalue(lua, -1);
  lua_setfield(lua, -2, "_G");
  // Chunks loaded from now on see these globals; nothing sees Lua's own any more.
  lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  return 0;
}

}  // namespace gh::sandbox
