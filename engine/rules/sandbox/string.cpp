// The string library, and the replacement of its patterns.
#include <algorithm>
#include <cstdint>

#include "base/text.hpp"
#include "rules/sandbox/library.hpp"

namespace gh::sandbox {
namespace {

constexpr std::size_t max_format_bytes = 4096;
constexpr std::size_t max_pattern_bytes = 256;
constexpr std::size_t max_separator_bytes = 64;
constexpr lua_Integer shown_letters = 60;  // of a name in a message

}  // namespace

// Rejects %p, and formats %s itself: both would reveal addresses.
int format(lua_State* lua) {
  const std::string_view format = to_view(lua, 1);
  luaL_argcheck(lua, format.size() <= max_format_bytes, 1, "format too long");
  spend(lua, static_cast<std::int64_t>(format.size()) * 16);  // "%.99f" writes up to 400 digits
  int argument = 1;
  for (std::size_t i = format.find('%'); i < format.size(); i = format.find('%', i + 1)) {
    i = std::min(format.find_first_not_of("-+ #0123456789.", i + 1), format.size());
    const char conversion = i < format.size() ? format[i] : '\0';
    if (conversion == '%') continue;
    if (conversion == 'p') {
      luaL_error(lua, "%%p is not available: addresses change from run to run");
    }
    if (++argument > lua_gettop(lua) || conversion != 's') continue;
    push_text(lua, argument);
    lua_replace(lua, argument);
  }
  return original(lua);
}

// Lua's version loops a billion times over an empty string, and allocates all its memory before it
// checks.
int rep(lua_State* lua) {
  const std::string_view text = to_view(lua, 1);
  const lua_Integer count = luaL_checkinteger(lua, 2);
  const std::string_view separator = lua_isnoneornil(lua, 3) ? "" : to_view(lua, 3);
  const std::size_t step = text.size() + separator.size();
  if (count <= 0 || step == 0) {
    lua_pushliteral(lua, "");
    return 1;
  }
  if (static_cast<std::uint64_t>(count) > max_string_bytes / step + 1) {
    luaL_error(lua, "resulting string too large");
  }
  spend(lua, count / 8);  // the bytes are charged when they are allocated
  return original(lua);
}

int glob(lua_State* lua) {
  const std::string_view text = to_view(lua, 1);
  const std::string_view pattern = to_view(lua, 2);
  luaL_argcheck(lua, pattern.size() <= max_pattern_bytes, 2, "pattern too long");
  spend(lua, static_cast<std::int64_t>(1 + text.size() * pattern.size() / 64));
  lua_pushboolean(lua, glob_match(pattern, text));
  return 1;
}

int split(lua_State* lua) {
  std::string_view text = to_view(lua, 1);
  const std::string_view separator = to_view(lua, 2);
  luaL_argcheck(lua, !separator.empty() && separator.size() <= max_separator_bytes, 2,
                "1 to 64 bytes expected");
  spend(lua, static_cast<std::int64_t>(text.size()));
  lua_newtable(lua);
  for (lua_Integer part = 1;; ++part) {
    const std::size_t end = text.find(separator);
    lua_pushlstring(lua, text.data(), std::min(end, text.size()));
    lua_rawseti(lua, -2, part);
    if (end == text.npos) return 1;
    text.remove_prefix(end + separator.size());
  }
}

// Profilers put whole call stacks into some names.
int shorten(lua_State* lua) {
  const std::string_view text = to_view(lua, 1);
  const lua_Integer most = luaL_optinteger(lua, 2, shown_letters);
  luaL_argcheck(lua, most >= 8, 2, "at least 8 expected");
  spend(lua, static_cast<std::int64_t>(text.size()));
  const std::string cut = shortened(text, static_cast<std::size_t>(most));
  lua_pushlstring(lua, cut.data(), cut.size());
  return 1;
}

int starts_with(lua_State* lua) {
  lua_pushboolean(lua, to_view(lua, 1).starts_with(to_view(lua, 2)));
  return 1;
}

}  // namespace gh::sandbox
