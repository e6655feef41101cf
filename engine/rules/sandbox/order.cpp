// next, pairs, ipairs and table.sort: the one order in which a rule visits keys and values, the
// same in every run.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "rules/sandbox/library.hpp"

namespace gh::sandbox {
namespace {

// A number or a text: numbers ascending, then texts by bytes. The text lives as long as its string
// in Lua.
struct Key {
  bool is_text = false;
  long double number = 0;  // holds both an int64 and a double exactly
  std::string_view text;
  lua_Integer index = 0;  // where it was found: makes sorting stable

  bool operator<(const Key& other) const {
    if (is_text != other.is_text) return other.is_text;
    if (is_text ? text != other.text : number != other.number) {
      return is_text ? text < other.text : number < other.number;
    }
    return index < other.index;
  }
};

// The cost of comparing with another key: long texts may share long prefixes.
std::int64_t work_on(const Key& key) { return 1 + static_cast<std::int64_t>(key.text.size() / 64); }

Key key_at(lua_State* lua, int index) {
  Key key;
  switch (lua_type(lua, index)) {
    case LUA_TSTRING:
      key.is_text = true;
      key.text = to_view(lua, index);
      break;
    case LUA_TNUMBER:
      key.number = lua_isinteger(lua, index) != 0
                       ? static_cast<long double>(lua_tointeger(lua, index))
                       : static_cast<long double>(lua_tonumber(lua, index));
      if (std::isnan(key.number)) luaL_error(lua, "nan has no order");
      break;
    default:
      luaL_error(lua, "a %s has no order; only numbers and strings do", luaL_typename(lua, index));
  }
  return key;
}

void sort_keys(lua_State* lua, std::vector<Key>& keys) {
  std::int64_t work = 0;
  for (const Key& key : keys) work += work_on(key);
  spend(lua, work * std::bit_width(keys.size()));
  std::sort(keys.begin(), keys.end());
}

// Pushes a new table with `count` elements of the table at `source`, the i-th taken from
// `index_of(i)`.
template <typename IndexOf>
void push_reordered(lua_State* lua, int source, std::size_t count, IndexOf index_of) {
  lua_createtable(lua, static_cast<int>(count), 0);
  for (std::size_t i = 0; i < count; ++i) {
    lua_rawgeti(lua, source, index_of(i));
    lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
  }
}

// The iterator of pairs. Upvalues: keys in order, how many have been visited, the table.
int pairs_next(lua_State* lua) {
  for (lua_Integer position = lua_tointeger(lua, lua_upvalueindex(2)) + 1;; ++position) {
    lua_settop(lua, 0);
    if (lua_rawgeti(lua, lua_upvalueindex(1), position) == LUA_TNIL) return 1;
    lua_pushvalue(lua, 1);
    if (lua_rawget(lua, lua_upvalueindex(3)) == LUA_TNIL) {  // removed in the meantime
      spend(lua, 1);
      continue;
    }
    lua_pushinteger(lua, position);
    lua_replace(lua, lua_upvalueindex(2));
    return 2;
  }
}

int ipairs_next(lua_State* lua) {
  const lua_Integer position = luaL_checkinteger(lua, 2);
  if (position == LUA_MAXINTEGER) return 0;
  lua_pushinteger(lua, position + 1);
  return lua_geti(lua, 1, position + 1) == LUA_TNIL ? 1 : 2;
}

using Order = std::vector<lua_Integer>;  // positions of a list's values, from 1

// Sorts with the function at 2 over the values of the table at 3. Not a standard algorithm: those
// may do anything if a comparison contradicts itself.
void merge_sort(lua_State* lua, Order& order) {
  const auto less = [lua](lua_Integer left, lua_Integer right) {
    spend(lua, 1);  // the comparison may be a C function, which the hook does not see
    lua_pushvalue(lua, 2);
    lua_rawgeti(lua, 3, left);
    lua_rawgeti(lua, 3, right);
    lua_call(lua, 2, 1);
    const bool result = lua_toboolean(lua, -1) != 0;
    lua_pop(lua, 1);
    return result;
  };
  Order merged(order.size());
  for (std::size_t width = 1; width < order.size(); width *= 2) {
    for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
      const std::size_t middle = std::min(begin + width, order.size());
      const std::size_t end = std::min(begin + 2 * width, order.size());
      std::size_t left = begin, right = middle;
      for (std::size_t out = begin; out < end; ++out) {
        const bool take_right = left == middle || (right < end && less(order[right], order[left]));
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
}

// Sorts numbers and texts, the values of the table at 3.
void sort_plainly(lua_State* lua, Order& order) {
  std::vector<Key> keys;
  keys.reserve(order.size());
  for (const lua_Integer i : order) {
    lua_rawgeti(lua, 3, i);
    keys.push_back(key_at(lua, -1));
    keys.back().index = i;
    lua_pop(lua, 1);
  }
  sort_keys(lua, keys);
  std::transform(keys.begin(), keys.end(), order.begin(), [](const Key& key) { return key.index; });
}

}  // namespace

// next(table [, key]): the smallest key above `key`. Lua's own order changes from run to run.
int next(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 2);
  std::optional<Key> after;
  if (!lua_isnil(lua, 2)) after = key_at(lua, 2);
  std::optional<Key> best;
  lua_pushnil(lua);  // the best key, at 3
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    const Key key = key_at(lua, 4);
    spend(lua, work_on(key));
    if ((after && !(*after < key)) || (best && !(key < *best))) continue;
    best = key;
    lua_copy(lua, 4, 3);
  }
  lua_settop(lua, 3);
  if (!best) return 1;
  lua_pushvalue(lua, 3);
  lua_rawget(lua, 1);
  return 2;
}

int pairs(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TTABLE);
  lua_settop(lua, 1);
  std::vector<Key> keys;
  lua_newtable(lua);  // at 2: keeps the keys alive
  for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
    keys.push_back(key_at(lua, 3));
    spend(lua, work_on(keys.back()));
    keys.back().index = static_cast<lua_Integer>(keys.size());
    lua_pushvalue(lua, 3);
    lua_rawseti(lua, 2, keys.back().index);
  }
  sort_keys(lua, keys);
  push_reordered(lua, 2, keys.size(), [&](std::size_t i) { return keys[i].index; });
  lua_pushinteger(lua, 0);
  lua_pushvalue(lua, 1);
  lua_pushcclosure(lua, metered<pairs_next>, 3);
  return 1;
}

// Like Lua's, except for its iterator, which a rule can keep and call at will.
int ipairs(lua_State* lua) {
  luaL_checkany(lua, 1);
  lua_pushcfunction(lua, metered<ipairs_next>);
  lua_pushvalue(lua, 1);
  lua_pushinteger(lua, 0);
  return 3;
}

// Stable, whereas Lua's quicksort leaves equal elements in an order that may depend on the clock.
int sort(lua_State* lua) {
  const auto length = static_cast<std::size_t>(checked_length(lua));
  const bool has_less = !lua_isnoneornil(lua, 2);
  if (has_less) luaL_checktype(lua, 2, LUA_TFUNCTION);
  lua_settop(lua, 2);
  if (length < 2) return 0;
  spend(lua, static_cast<std::int64_t>(length));
  // A copy, at 3: the comparison may change the table.
  const auto in_place = [](std::size_t i) { return static_cast<lua_Integer>(i) + 1; };
  push_reordered(lua, 1, length, in_place);
  Order order(length);
  std::iota(order.begin(), order.end(), 1);
  if (has_less) {
    merge_sort(lua, order);
  } else {
    sort_plainly(lua, order);
  }
  for (std::size_t i = 0; i < length; ++i) {
    lua_rawgeti(lua, 3, order[i]);
    lua_rawseti(lua, 1, static_cast<lua_Integer>(i) + 1);
  }
  return 0;
}

}  // namespace gh::sandbox
