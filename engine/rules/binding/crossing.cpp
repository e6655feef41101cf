#include "rules/binding/crossing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

namespace gh::binding {
namespace {

constexpr const char* context_key = "gh.context";

int collect_context(lua_State* lua) {
  static_cast<Context*>(lua_touserdata(lua, 1))->~Context();
  return 0;
}

// Makes room for a selection that the rule will hold.
void hold(lua_State* lua, std::size_t bytes) {
  HeldSelections& held = context(lua).held;
  if (held.bytes + bytes > held.collect_at_bytes) {
    lua_gc(lua, LUA_GCCOLLECT);  // selections that the rule no longer uses count until then
    held.collect_at_bytes = std::max(HeldSelections::first_collection_bytes, 2 * held.bytes);
  }
  if (held.bytes + bytes > HeldSelections::most_bytes) {
    throw Error("the rule holds too many selections at one time");
  }
  held.bytes += bytes;
}

std::size_t clamped(lua_Integer n, std::size_t most) {
  return static_cast<std::size_t>(std::clamp<lua_Integer>(n, 0, static_cast<lua_Integer>(most)));
}

}  // namespace

void make_context(lua_State* lua, const ApiHost& host) {
  lua_newtable(lua);
  lua_pushcfunction(lua, collect_context);
  lua_setfield(lua, -2, "__gc");
  // Nothing may fail between these two: Lua would not destroy the context.
  new (lua_newuserdatauv(lua, sizeof(Context), 0)) Context(lua, host);
  lua_rotate(lua, -2, 1);
  lua_setmetatable(lua, -2);
  lua_setfield(lua, LUA_REGISTRYINDEX, context_key);
}

Context& context(lua_State* lua) {
  lua_getfield(lua, LUA_REGISTRYINDEX, context_key);
  auto* c = static_cast<Context*>(lua_touserdata(lua, -1));
  lua_pop(lua, 1);
  return *c;
}

// --- To Lua

void push_number(lua_State* lua, double number) {
  if (number == std::floor(number) && std::abs(number) < largest_exact) {
    lua_pushinteger(lua, static_cast<lua_Integer>(number));
  } else {
    lua_pushnumber(lua, number);
  }
}

void push_text(lua_State* lua, std::string_view text) {
  lua_pushlstring(lua, text.data(), text.size());
}

void push_rows(lua_State* lua, Rows&& rows) {
  charge(lua, rows.rows.size() / 4);
  hold(lua, rows.bytes());
  void* memory = lua_newuserdatauv(lua, sizeof(Rows), 0);
  new (memory) Rows(std::move(rows));
  luaL_setmetatable(lua, selection_type);
}

int collect_rows(lua_State* lua) {
  auto* rows = static_cast<Rows*>(lua_touserdata(lua, 1));
  context(lua).held.bytes -= rows->bytes();
  rows->~Rows();
  return 0;
}

void set_number(lua_State* lua, const char* key, double number) {
  push_number(lua, number);
  lua_setfield(lua, -2, key);
}

void set_integer(lua_State* lua, const char* key, std::int64_t number) {
  lua_pushinteger(lua, number);
  lua_setfield(lua, -2, key);
}

void set_flag(lua_State* lua, const char* key, bool flag) {
  lua_pushboolean(lua, flag);
  lua_setfield(lua, -2, key);
}

void set_text(lua_State* lua, const char* key, std::string_view text) {
  push_text(lua, text);
  lua_setfield(lua, -2, key);
}

void set_rows(lua_State* lua, const char* key, Rows&& rows) {
  push_rows(lua, std::move(rows));
  lua_setfield(lua, -2, key);
}

// --- From Lua

void check_trace(lua_State* lua) { luaL_checkudata(lua, 1, trace_type); }

Rows& checked_rows(lua_State* lua, int index) {
  return *static_cast<Rows*>(luaL_checkudata(lua, index, selection_type));
}

Rows& selection_at(lua_State* lua, int index, const std::string& what) {
  void* rows = luaL_testudata(lua, index, selection_type);
  if (!rows) throw Error(fmt::format("{} must be a selection", what));
  return *static_cast<Rows*>(rows);
}

Field checked_field(lua_State* lua, int index) { return field_named(checked_text(lua, index)); }

std::size_t checked_count(lua_State* lua, int index, std::size_t most) {
  return clamped(luaL_checkinteger(lua, index), most);
}

std::size_t optional_count(lua_State* lua, int index, std::size_t otherwise, std::size_t most) {
  return clamped(luaL_optinteger(lua, index, static_cast<lua_Integer>(otherwise)), most);
}

std::string checked_text(lua_State* lua, int index) {
  luaL_checktype(lua, index, LUA_TSTRING);
  return lua_text(lua, index);
}

std::string checked_glob(lua_State* lua, int index) {
  luaL_checktype(lua, index, LUA_TSTRING);
  if (lua_rawlen(lua, index) > most_glob_bytes) {
    throw Error(fmt::format("a pattern is longer than {} bytes", most_glob_bytes));
  }
  return lua_bytes(lua, index);
}

std::vector<std::string> globs_in(const LuaTable& table, const char* key) {
  lua_State* lua = table.lua();
  std::vector<std::string> globs;
  const auto add = [&](int index) {
    if (lua_type(lua, index) != LUA_TSTRING) {
      throw Error(fmt::format("{}: '{}' takes a string or a list of strings", table.where(), key));
    }
    globs.push_back(checked_glob(lua, index));
  };
  if (table.push(key) == LUA_TTABLE) {
    LuaTable(lua, -1, fmt::format("{}: '{}'", table.where(), key)).each(add, most_globs);
  } else {
    add(lua_gettop(lua));
  }
  lua_pop(lua, 1);
  return globs;
}

const Rows* ops_in(const LuaTable& table, const char* key) {
  lua_State* lua = table.lua();
  const Rows* rows = nullptr;
  if (table.push(key) != LUA_TNIL) rows = &selection_at(lua, -1, fmt::format("'{}'", key));
  lua_pop(lua, 1);
  if (rows && rows->kind != Kind::ops) {
    throw Error(fmt::format("'{}' takes a selection of operations", key));
  }
  return rows;
}

std::optional<LuaTable> named_arguments(lua_State* lua, int index, const char* verb,
                                        const std::vector<std::string>& names) {
  if (lua_isnoneornil(lua, index)) return std::nullopt;
  LuaTable table(lua, index, fmt::format("the argument of '{}'", verb));
  table.only(names);
  return table;
}

// --- Calls from Lua

std::size_t instructions(const Cost& cost, const Context& c, std::size_t rows) {
  const auto of = [](std::size_t count, unsigned an_instruction) {
    return an_instruction > 0 ? count / an_instruction : 0;
  };
  const Trace& t = c.trace();
  return 1 + of(rows, cost.rows) + of(t.ops.size(), cost.ops) + of(t.calls.size(), cost.calls) +
         of(t.ranges.size(), cost.ranges) + of(t.gpu_faults.size(), cost.gpu_faults) +
         of(t.samples.size(), cost.samples) + of(c.in_steps.copies.size(), cost.copies);
}

}  // namespace gh::binding
