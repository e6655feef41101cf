#include "rules/literal_row.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace gh {

LiteralRow::LiteralRow(lua_State* lua, std::string where, const std::vector<std::string>& fields)
    : lua_(lua), index_(lua_gettop(lua)), where_(std::move(where)) {
  if (!lua_istable(lua, index_)) throw Error(fmt::format("{} has to be a table", where_));
  for (lua_pushnil(lua); lua_next(lua, index_); lua_pop(lua, 1)) {
    if (lua_type(lua, -2) == LUA_TNUMBER) continue;
    const std::string field = lua_tostring(lua, -2);
    if (std::find(fields.begin(), fields.end(), field) == fields.end())
      throw Error(fmt::format("{} has an unknown field '{}'{}", where_, field,
                              did_you_mean(field, fields)));
  }
}

Ns LiteralRow::time(int position) const {
  lua_rawgeti(lua_, index_, position);
  const bool is_number = lua_type(lua_, -1) == LUA_TNUMBER;
  const double us = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  if (!is_number || std::abs(us) > 1e12)
    throw Error(fmt::format("{} needs a time in microseconds at position {}", where_, position));
  return static_cast<Ns>(std::llround(us * 1000));
}

std::string LiteralRow::text_at(int position) const {
  lua_rawgeti(lua_, index_, position);
  if (lua_type(lua_, -1) != LUA_TSTRING)
    throw Error(fmt::format("{} needs a name at position {}", where_, position));
  const std::string text = lua_tostring(lua_, -1);
  lua_pop(lua_, 1);
  return text;
}

double LiteralRow::number_at(int position) const {
  lua_rawgeti(lua_, index_, position);
  if (lua_type(lua_, -1) != LUA_TNUMBER)
    throw Error(fmt::format("{} needs a number at position {}", where_, position));
  const double number = lua_tonumber(lua_, -1);
  lua_pop(lua_, 1);
  return number;
}

bool LiteralRow::has(const char* field) const {
  const bool there = lua_getfield(lua_, index_, field) != LUA_TNIL;
  lua_pop(lua_, 1);
  return there;
}

bool LiteralRow::is_true(const char* field) const {
  lua_getfield(lua_, index_, field);
  const bool yes = lua_toboolean(lua_, -1) != 0;
  lua_pop(lua_, 1);
  return yes;
}

bool LiteralRow::is_false(const char* field) const {
  lua_getfield(lua_, index_, field);
  const bool no = lua_isboolean(lua_, -1) && !lua_toboolean(lua_, -1);
  lua_pop(lua_, 1);
  return no;
}

std::string LiteralRow::text(const char* field, const std::string& otherwise) const {
  const int type = lua_getfield(lua_, index_, field);
  const std::string text = type == LUA_TSTRING ? lua_tostring(lua_, -1) : otherwise;
  lua_pop(lua_, 1);
  return text;
}

double LiteralRow::number(const char* field, double otherwise) const {
  const int type = lua_getfield(lua_, index_, field);
  const double number = type == LUA_TNUMBER ? lua_tonumber(lua_, -1) : otherwise;
  lua_pop(lua_, 1);
  return number;
}

std::optional<Span> LiteralRow::span(const char* field) const {
  std::optional<Span> span;
  if (lua_getfield(lua_, index_, field) == LUA_TTABLE) {
    const LiteralRow inner(lua_, fmt::format("'{}' of {}", field, where_), {});
    span = Span{inner.time(1), inner.time(2)};
  }
  lua_pop(lua_, 1);
  return span;
}

}  // namespace gh
