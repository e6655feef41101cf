#include "rules/lua_table.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace gh {
namespace {

// A finding's longest list has ten elements.
constexpr lua_Integer most_elements = 1000;

}  // namespace

std::string lua_text(lua_State* lua, int index) {
  std::size_t bytes = 0;
  const char* text = lua_tolstring(lua, index, &bytes);
  return valid_utf8({text, bytes});
}

LuaTable::LuaTable(lua_State* lua, int index, std::string where)
    : lua_(lua), index_(lua_absindex(lua, index)), where_(std::move(where)) {
  if (!lua_istable(lua, index_)) throw Error(fmt::format("{} has to be a table", where_));
}

int LuaTable::push(const char* key) const {
  lua_pushstring(lua_, key);
  return lua_rawget(lua_, index_);
}

std::string LuaTable::text(const char* key, bool required) const {
  const int type = push(key);
  const std::string value = type == LUA_TSTRING ? lua_text(lua_, -1) : std::string();
  lua_pop(lua_, 1);
  if (type != LUA_TSTRING && (required || type != LUA_TNIL))
    throw Error(fmt::format("{} needs '{}', a string", where_, key));
  check_length(value, key);
  return value;
}

std::optional<double> LuaTable::number(const char* key) const {
  const int type = push(key);
  std::optional<double> value;
  if (type == LUA_TNUMBER) value = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  if (!value && type != LUA_TNIL)
    throw Error(fmt::format("{}: '{}' has to be a number", where_, key));
  if (value && !std::isfinite(*value))
    throw Error(fmt::format("{}: '{}' is not a finite number", where_, key));
  return value;
}

bool LuaTable::truth(const char* key) const {
  push(key);
  const bool value = lua_toboolean(lua_, -1);
  lua_pop(lua_, 1);
  return value;
}

std::vector<std::string> LuaTable::texts(const char* key) const {
  std::vector<std::string> list;
  each(key, [&](int value) {
    if (lua_type(lua_, value) != LUA_TSTRING)
      throw Error(fmt::format("{}: '{}' has to be a list of strings", where_, key));
    list.push_back(lua_text(lua_, value));
    check_length(list.back(), key);
  });
  return list;
}

void LuaTable::each(const char* key, const std::function<void(int)>& take) const {
  const int type = push(key);
  const int list = lua_gettop(lua_);
  if (type != LUA_TNIL && type != LUA_TTABLE)
    throw Error(fmt::format("{}: '{}' has to be a list", where_, key));
  if (type == LUA_TTABLE) {
    for (lua_Integer i = 1; lua_rawgeti(lua_, list, i) != LUA_TNIL; ++i) {
      if (i > most_elements)
        throw Error(fmt::format("{}: '{}' has more than {} elements", where_, key, most_elements));
      take(lua_gettop(lua_));
      lua_settop(lua_, list);
    }
  }
  lua_settop(lua_, list - 1);
}

// Sorted, since Lua's own order differs from run to run.
std::vector<std::string> LuaTable::sorted_keys() const {
  std::vector<std::string> keys;
  for (lua_pushnil(lua_); lua_next(lua_, index_); lua_pop(lua_, 1)) {
    if (lua_type(lua_, -2) != LUA_TSTRING || lua_tostring(lua_, -2) != lua_text(lua_, -2))
      throw Error(fmt::format("{}: every key has to be a name", where_));
    keys.push_back(lua_text(lua_, -2));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

void LuaTable::each_pair(const std::function<void(const std::string&, int)>& take) const {
  for (const std::string& key : sorted_keys()) {
    push(key.c_str());
    take(key, lua_gettop(lua_));
    lua_pop(lua_, 1);
  }
}

void LuaTable::only(const std::vector<std::string>& keys) const {
  for (const std::string& key : sorted_keys())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      throw Error(fmt::format("{} has an unknown key '{}'{}", where_, printable(key),
                              did_you_mean(key, keys)));
}

void LuaTable::check_length(const std::string& text, const char* key) const {
  if (text.size() > most_text_bytes)
    throw Error(fmt::format("{}: '{}' is longer than {} KiB", where_, key, most_text_bytes >> 10));
}

}  // namespace gh
