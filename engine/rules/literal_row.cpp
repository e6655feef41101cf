#include "rules/literal_row.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace gh {
namespace {

constexpr double longest_us = 1e12;  // 11 days

}  // namespace

LiteralRow::LiteralRow(lua_State* lua, int index, std::string where,
                       const std::vector<std::string>& fields)
    : table_(lua, index, std::move(where)) {
  table_.only(fields, LuaTable::Positions::left_out);
}

double LiteralRow::number_at(int position) const {
  lua_State* lua = table_.lua();
  const bool is_number = table_.push(static_cast<std::size_t>(position)) == LUA_TNUMBER;
  const double number = lua_tonumber(lua, -1);
  lua_pop(lua, 1);
  if (!is_number || !std::isfinite(number))
    throw Error(fmt::format("{} needs a number at position {}", table_.where(), position));
  return number;
}

Ns LiteralRow::time(int position) const {
  const double us = number_at(position);
  if (std::abs(us) > longest_us)
    throw Error(
        fmt::format("{} needs a time in microseconds at position {}", table_.where(), position));
  return static_cast<Ns>(std::llround(us * 1000));
}

std::string LiteralRow::text_at(int position) const {
  lua_State* lua = table_.lua();
  if (table_.push(static_cast<std::size_t>(position)) != LUA_TSTRING)
    throw Error(fmt::format("{} needs a name at position {}", table_.where(), position));
  std::string text = lua_text(lua, -1);
  lua_pop(lua, 1);
  return text;
}

bool LiteralRow::is_false(const char* field) const {
  lua_State* lua = table_.lua();
  const bool no = table_.push(field) == LUA_TBOOLEAN && lua_toboolean(lua, -1) == 0;
  lua_pop(lua, 1);
  return no;
}

std::string LiteralRow::text(const char* field, const std::string& otherwise) const {
  return table_.is_text(field) ? table_.text(field) : otherwise;
}

double LiteralRow::number(const char* field, double otherwise) const {
  lua_State* lua = table_.lua();
  const bool is_number = table_.push(field) == LUA_TNUMBER;
  const double number = lua_tonumber(lua, -1);
  lua_pop(lua, 1);
  if (!is_number) return otherwise;
  if (std::isnan(number))
    throw Error(fmt::format("'{}' of {} is not a number", field, table_.where()));
  return std::clamp(number, -largest_exact, largest_exact);
}

std::optional<Span> LiteralRow::span(const char* field) const {
  std::optional<Span> span;
  if (table_.push(field) == LUA_TTABLE) {
    const LiteralRow inner(table_.lua(), -1, fmt::format("'{}' of {}", field, table_.where()), {});
    span = Span{inner.time(1), inner.time(2)};
  }
  lua_pop(table_.lua(), 1);
  return span;
}

}  // namespace gh
