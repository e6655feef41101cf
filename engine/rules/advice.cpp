#include "rules/advice.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>

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

// Whether the finding has seen it.
bool is_seen(const LuaTable& finding, const std::string& name) {
  if (finding.text("message") == name) return true;
  lua_State* lua = finding.lua();
  const bool seen = finding.push("seen") != LUA_TNIL &&
                    LuaTable(lua, -1, "'seen' of a finding").truth(name.c_str());
  lua_pop(lua, 1);
  return seen;
}

// An owner's key counts as seen, and "owner" if the table says what to do about it.
bool fits(const LuaTable& piece, const LuaTable& finding, const KnownOwner* owner) {
  const auto seen = [&](const std::string& name) {
    return (owner && (name == owner->key || (name == "owner" && !owner->fix.empty()))) ||
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
    if (owner && !owner->fix.empty()) {
      lua_pushstring(lua, owner->fix.c_str());
      take(lua, lua_gettop(lua), finding, analysis, step, advice);
      lua_pop(lua, 1);
    }
    LuaTable(lua, -1, where).each([&](int index) {
      if (lua_type(lua, index) != LUA_TTABLE || fits(LuaTable(lua, index, where), finding, owner))
        take(lua, index, finding, analysis, step, advice);
    });
  }
  lua_settop(lua, lua_gettop(lua) - (type == LUA_TNIL ? 2 : 1));
  return advice;
}

}  // namespace gh
