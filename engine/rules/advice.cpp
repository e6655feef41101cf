#include "rules/advice.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "rules/finding_message.hpp"
#include "rules/texts_by_kind.hpp"

namespace gh {
namespace {

constexpr const char* where = "'advice' of the rule";
const std::vector<std::string> conditions{"when", "unless"};

// A name, or a list of names.
std::vector<std::string> named(const LuaTable& piece, const char* condition) {
  if (piece.is_text(condition)) return {piece.text(condition)};
  return piece.texts(condition);
}

// Calls take(seen) with the finding's `seen`, if it has one.
template <class Take>
void with_seen(const LuaTable& finding, Take take) {
  if (finding.push("seen") != LUA_TNIL) take(LuaTable(finding.lua(), -1, "'seen' of a finding"));
  lua_pop(finding.lua(), 1);
}

// How much of its time the finding says that a thing is for; nothing if it does not say.
std::optional<double> worth(const LuaTable& finding, const std::vector<std::string>& names) {
  std::optional<double> most;
  with_seen(finding, [&](const LuaTable& seen) {
    for (const std::string& name : names)
      if (seen.push(name.c_str()) == LUA_TNUMBER)
        most = std::max(most.value_or(0), lua_tonumber(finding.lua(), -1));
    for (std::size_t i = 0; i < names.size(); ++i) lua_pop(finding.lua(), 1);
  });
  return most;
}

// Whether the finding has seen it.
bool is_seen(const LuaTable& finding, const std::string& name) {
  if (finding.text("message") == name) return true;
  if (const auto much = worth(finding, {name})) return *much > 0;
  bool found = false;
  with_seen(finding, [&](const LuaTable& seen) { found = seen.truth(name.c_str()); });
  return found;
}

// An owner's key counts as seen, and "owner" if the table says what to do about it.
bool fits(const LuaTable& piece, const LuaTable& finding, const KnownOwner* owner,
          const std::string* owners_fix) {
  const auto seen = [&](const std::string& name) {
    return (owner && name == owner->key) || (owners_fix && name == "owner") ||
           is_seen(finding, name);
  };
  const std::vector<std::string> when = named(piece, "when"), unless = named(piece, "unless");
  return std::all_of(when.begin(), when.end(), seen) &&
         std::none_of(unless.begin(), unless.end(), seen);
}

// Words for the program in the value at `index`, filled from the finding's data.
void take(lua_State* lua, int index, const LuaTable& finding, const Analysis& analysis,
          const StepTime& step, std::vector<FilledMessage>& advice) {
  if (finding.push("data") == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_newtable(lua);
  }
  const LuaTable data(lua, -1, "'data' of a finding");
  for (const std::string& text : texts_for(analysis.program, lua, index, where, conditions))
    advice.push_back(filled_message(text, data, analysis, step));
  lua_pop(lua, 1);
}

struct Piece {
  std::vector<FilledMessage> texts;
  std::optional<double> worth;
};

// Those whose worth is known take each other's places, so that the one of most comes first; all
// others stay where the rule has them.
std::vector<Piece> by_worth(std::vector<Piece> pieces) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].worth) places.push_back(i);
  std::vector<std::size_t> order = places;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return *pieces[x].worth > *pieces[y].worth;
  });
  std::vector<Piece> sorted = pieces;
  for (std::size_t i = 0; i < places.size(); ++i) sorted[places[i]] = pieces[order[i]];
  return sorted;
}

}  // namespace

void check_advice(lua_State* lua, const LuaTable& rule) {
  if (rule.push("advice") != LUA_TNIL)
    LuaTable(lua, -1, where).each([&](int index) {
      if (lua_type(lua, index) != LUA_TTABLE) return;
      const LuaTable piece(lua, index, where);
      for (const std::string& condition : conditions) named(piece, condition.c_str());
    });
  lua_pop(lua, 1);
}

std::vector<FilledMessage> advice_for(lua_State* lua, const LuaTable& finding,
                                      const KnownOwner* owner, const Analysis& analysis,
                                      const StepTime& step) {
  std::vector<FilledMessage> advice;
  const int type = finding.push("advice");
  if (type == LUA_TTABLE) {
    for (std::string& text :
         texts_for(analysis.program, lua, lua_gettop(lua), "a finding: 'advice'"))
      advice.push_back({std::move(text), std::nullopt});
  } else if (type != LUA_TNIL) {
    throw Error("a finding: 'advice' must be a list");
  } else if (LuaTable(lua, 1, "the rule").push("advice") != LUA_TNIL) {
    const std::string* owners_fix = owner ? owner->fix_for(analysis.program) : nullptr;
    if (owners_fix) {
      lua_pushstring(lua, owners_fix->c_str());
      take(lua, lua_gettop(lua), finding, analysis, step, advice);
      lua_pop(lua, 1);
    }
    std::vector<Piece> pieces;
    LuaTable(lua, -1, where).each([&](int index) {
      const bool is_table = lua_type(lua, index) == LUA_TTABLE;
      if (is_table && !fits(LuaTable(lua, index, where), finding, owner, owners_fix)) return;
      Piece piece;
      if (is_table) piece.worth = worth(finding, named(LuaTable(lua, index, where), "when"));
      take(lua, index, finding, analysis, step, piece.texts);
      pieces.push_back(std::move(piece));
    });
    for (Piece& piece : by_worth(std::move(pieces)))
      std::move(piece.texts.begin(), piece.texts.end(), std::back_inserter(advice));
  }
  lua_settop(lua, lua_gettop(lua) - (type == LUA_TNIL ? 2 : 1));
  return advice;
}

}  // namespace gh
