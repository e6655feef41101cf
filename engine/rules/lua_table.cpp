#include "rules/lua_table.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "rules/sandbox.hpp"

namespace gh {
namespace {

// Most stack slots needed to read one value.
constexpr int stack_values = 8;

}  // namespace

std::string lua_bytes(lua_State* lua, int index) {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, index, &bytes);
  if (bytes > most_text_bytes) {
    throw Error(fmt::format("a text is longer than {} KiB", most_text_bytes >> 10));
  }
  lua_take_text(lua, bytes);
  return {text, bytes};
}

std::string lua_text(lua_State* lua, int index) { return printable(lua_bytes(lua, index)); }

std::string lua_lines(lua_State* lua, int index) { return printable_lines(lua_bytes(lua, index)); }

LuaTable::LuaTable(lua_State* lua, int index, std::string where)
    : lua_(lua), index_(lua_absindex(lua, index)), where_(std::move(where)) {
  if (!lua_istable(lua, index_)) throw Error(fmt::format("{} must be a table", where_));
}

int LuaTable::push(const char* key) const {
  luaL_checkstack(lua_, stack_values, nullptr);
  lua_pushstring(lua_, key);
  return lua_rawget(lua_, index_);
}

int LuaTable::push(std::size_t position) const {
  luaL_checkstack(lua_, stack_values, nullptr);
  return lua_rawgeti(lua_, index_, static_cast<lua_Integer>(position));
}

bool LuaTable::has(const char* key) const {
  const bool there = push(key) != LUA_TNIL;
  lua_pop(lua_, 1);
  return there;
}

bool LuaTable::is_text(const char* key) const {
  const bool text = push(key) == LUA_TSTRING;
  lua_pop(lua_, 1);
  return text;
}

std::string LuaTable::text(const char* key, bool required) const {
  const int type = push(key);
  if (type != LUA_TSTRING && (required || type != LUA_TNIL)) {
    throw Error(fmt::format("{} needs '{}', a string", where_, key));
  }
  std::string value;
  if (type == LUA_TSTRING) {
    check_length(key);
    value = lua_text(lua_, -1);
  }
  lua_pop(lua_, 1);
  return value;
}

std::string LuaTable::lines(const char* key) const {
  if (push(key) != LUA_TSTRING) throw Error(fmt::format("{} needs '{}', a string", where_, key));
  check_length(key);
  std::string value = lua_lines(lua_, -1);
  lua_pop(lua_, 1);
  return value;
}

std::optional<double> LuaTable::number(const char* key) const {
  const int type = push(key);
  std::optional<double> value;
  if (type == LUA_TNUMBER) value = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  if (!value && type != LUA_TNIL) {
    throw Error(fmt::format("{}: '{}' must be a number", where_, key));
  }
  if (value && !std::isfinite(*value)) {
    throw Error(fmt::format("{}: '{}' is not a finite number", where_, key));
  }
  return value;
}

std::size_t LuaTable::count(const char* key, std::size_t otherwise, std::size_t most) const {
  const int type = push(key);
  const double n = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  if (type == LUA_TNIL) return otherwise;
  if (type != LUA_TNUMBER || std::isnan(n)) {
    throw Error(fmt::format("{}: '{}' must be a number", where_, key));
  }
  return static_cast<std::size_t>(
      std::clamp(n, 0.0, std::min(static_cast<double>(most), largest_exact)));
}

bool LuaTable::truth(const char* key) const {
  push(key);
  const bool value = lua_toboolean(lua_, -1) != 0;
  lua_pop(lua_, 1);
  return value;
}

std::vector<std::string> LuaTable::texts(const char* key) const {
  std::vector<std::string> list;
  each(key, [&](int value) {
    if (lua_type(lua_, value) != LUA_TSTRING) {
      throw Error(fmt::format("{}: '{}' must be a list of strings", where_, key));
    }
    check_length(key);
    list.push_back(lua_text(lua_, value));
  });
  return list;
}

void LuaTable::each(const char* key, const std::function<void(int)>& take) const {
  const int type = push(key);
  if (type != LUA_TNIL && type != LUA_TTABLE) {
    throw Error(fmt::format("{}: '{}' must be a list", where_, key));
  }
  if (type == LUA_TTABLE) LuaTable(lua_, -1, fmt::format("{}: '{}'", where_, key)).each(take);
  lua_pop(lua_, 1);
}

void LuaTable::each(const std::function<void(int)>& take, std::size_t most) const {
  const int top = lua_gettop(lua_);
  lua_spend(lua_, 1);
  for (std::size_t position = 1; push(position) != LUA_TNIL; ++position) {
    if (position > most) throw Error(fmt::format("{} has more than {} elements", where_, most));
    lua_spend(lua_, 1);
    take(lua_gettop(lua_));
    lua_settop(lua_, top);
  }
  lua_settop(lua_, top);
}

void LuaTable::each_pair(const std::function<void(const std::string&, int)>& take) const {
  for (const std::string& key : names()) {
    push(key.c_str());
    take(key, lua_gettop(lua_));
    lua_pop(lua_, 1);
  }
}

// Sorted, since Lua's own order differs from run to run.
std::vector<std::string> LuaTable::names(Positions positions) const {
  luaL_checkstack(lua_, stack_values, nullptr);
  std::vector<std::string> keys;
  lua_spend(lua_, 1);
  for (lua_pushnil(lua_); lua_next(lua_, index_) != 0; lua_pop(lua_, 1)) {
    lua_spend(lua_, 1);
    const int type = lua_type(lua_, -2);
    if (type == LUA_TNUMBER && positions == Positions::left_out) continue;
    if (type != LUA_TSTRING) {
      throw Error(fmt::format("{}: every key must be a name", where_));
    }
    if (keys.size() == most_elements) {
      throw Error(fmt::format("{} has more than {} keys", where_, most_elements));
    }
    keys.push_back(lua_bytes(lua_, -2));
    if (keys.back() != printable(keys.back())) {
      throw Error(fmt::format("{}: every key must be a name", where_));
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void LuaTable::only(const std::vector<std::string>& keys, Positions positions) const {
  for (const std::string& key : names(positions)) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    throw Error(fmt::format("{} has an unknown key '{}'{}", where_, key, did_you_mean(key, keys)));
  }
}

// Checks the string on top of the stack.
void LuaTable::check_length(const char* key) const {
  if (lua_rawlen(lua_, -1) <= most_text_bytes) return;
  throw Error(fmt::format("{}: '{}' is longer than {} KiB", where_, key, most_text_bytes >> 10));
}

}  // namespace gh
