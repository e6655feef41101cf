#include "rules/texts_by_kind.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <iterator>

#include "base/text.hpp"
#include "rules/lua_table.hpp"

namespace gh {
namespace {

// Runner, task, framework, tool: deeper tables would only repeat these.
constexpr int most_depth = 6;

// Reads one value. Every function leaves Lua's stack as it was.
class TextsByKind {
 public:
  TextsByKind(const ProgramKind& program, lua_State* lua, const std::string& where,
              const std::vector<std::string>& besides)
      : program_(program), lua_(lua), where_(where), besides_(besides) {}

  std::vector<std::string> of(int index, int depth = 0) const {
    if (lua_type(lua_, index) == LUA_TSTRING) {
      if (lua_rawlen(lua_, index) > most_text_bytes)
        throw Error(fmt::format("{} is longer than {} KiB", where_, most_text_bytes >> 10));
      return {lua_text(lua_, index)};
    }
    if (lua_type(lua_, index) != LUA_TTABLE || depth == most_depth)
      throw Error(
          fmt::format("{} must be a list of texts, or of tables with texts by kind", where_));
    const LuaTable table(lua_, index, where_);
    const bool is_list = table.push(std::size_t{1}) != LUA_TNIL;
    lua_pop(lua_, 1);
    return is_list ? of_list(table, depth) : of_kinds(table, depth);
  }

 private:
  std::vector<std::string> of_list(const LuaTable& table, int depth) const {
    for (const std::string& name : table.names(LuaTable::Positions::left_out))
      if (depth > 0 || std::find(besides_.begin(), besides_.end(), name) == besides_.end())
        throw Error(fmt::format("{} mixes a list with kinds", where_));
    std::vector<std::string> texts;
    table.each([&](int value) { append(texts, of(value, depth + 1)); });
    if (texts.size() > most_elements)
      throw Error(fmt::format("{} has more than {} elements", where_, most_elements));
    return texts;
  }

  std::vector<std::string> of_kinds(const LuaTable& table, int depth) const {
    std::vector<std::string> keys = program_kinds();
    if (depth == 0) append(keys, besides_);
    table.only(keys);
    for (const std::string& kind : program_.kinds) {
      std::vector<std::string> texts;
      if (table.push(kind.c_str()) != LUA_TNIL) texts = of(lua_gettop(lua_), depth + 1);
      lua_pop(lua_, 1);
      if (!texts.empty()) return texts;
    }
    return {};
  }

  static void append(std::vector<std::string>& to, std::vector<std::string> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  }

  const ProgramKind& program_;
  lua_State* lua_;
  const std::string& where_;
  const std::vector<std::string>& besides_;
};

}  // namespace

std::vector<std::string> texts_for(const ProgramKind& program, lua_State* lua, int index,
                                   const std::string& where,
                                   const std::vector<std::string>& besides) {
  return TextsByKind(program, lua, where, besides).of(lua_absindex(lua, index));
}

}  // namespace gh
