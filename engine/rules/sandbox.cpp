#include "rules/sandbox.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace gh {
namespace {

constexpr std::int64_t hook_interval = 1000;  // instructions between two looks at the budget
constexpr std::size_t max_source_bytes =
    128u << 10;  // the parser has no hook and takes quadratic time on long `a and b and ...`
constexpr std::size_t max_string_bytes =
    1u << 20;  // comparing strings is one instruction, however long they are
constexpr std::size_t string_header_bytes = 64;  // at least what Lua adds to a string
constexpr std::size_t max_format_bytes = 4096;
constexpr std::size_t max_pattern_bytes = 256;
constexpr std::size_t max_separator_bytes = 64;
constexpr std::size_t max_message_width = 500;
constexpr lua_Unsigned max_elements = 1u
                                      << 22;  // 64 MiB of values: what is longer only claims to be
constexpr int deep_recursion = 50'000;        // calls within calls: no rule, but a hint
constexpr std::int64_t throw_instructions =
    200;                          // what catching a C++ exception, as Lua's errors are, costs
constexpr int max_refusals = 16;  // each makes Lua collect all garbage

/// Whether `message` has the ":12:" that Lua puts after a file's name.
bool names_a_line(std::string_view message) {
  for (auto colon = message.find(':'); colon != message.npos;
       colon = message.find(':', colon + 1)) {
    const auto end = message.find_first_not_of("0123456789", colon + 1);
    if (end != message.npos && end > colon + 1 && message[end] == ':') return true;
  }
  return false;
}

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

std::string_view to_view(lua_State* lua, int index) {
  std::size_t length = 0;
  const char* text = luaL_checklstring(lua, index, &length);
  return {text, length};
}

}  // namespace

LuaError::LuaError(std::string_view message)
    : std::runtime_error(shortened(printable(message), max_message_width)) {}

// ---------------------------------------------------------------------------------------------------------------------
// Limits

/// Why a rule may not go on. A limit once hit is final, so that no pcall can swallow it.
enum class Stop { none, instructions, time, memory, string, exception };

/// What the rule has used. Lua reaches it as the user data of its allocator.
struct LuaSandbox::Meter {
  SandboxLimits limits;
  lua_State* lua = nullptr;  // null while the state is being made
  std::string chunk_name = "lua";

  std::int64_t instructions_left = limits.instructions;
  std::int64_t interval = 0;  // of the hook, as armed
  std::int64_t deadline_cpu_ns = 0;
  std::size_t used_bytes = 0;
  int refusals = 0;
  Stop refusal = Stop::memory;  // why the allocator last said no
  bool recursing = false;       // when it did
  Stop stop = Stop::none;
  std::string position;  // "file.lua:12: " of the last refusal or stop

  static Meter& of(lua_State* lua) {
    void* self = nullptr;
    lua_getallocf(lua, &self);
    return *static_cast<Meter*>(self);
  }

  /// Calls the hook after so many more instructions. Safe at any time, as lua_sethook is, but it
  /// walks the call stack: hence the check.
  void arm(std::int64_t instructions) {
    if (lua == nullptr || interval == instructions) return;
    interval = instructions;
    lua_sethook(lua, on_count, LUA_MASKCOUNT, static_cast<int>(instructions));
  }

  void charge(std::int64_t instructions) {
    if (instructions <= 0) return;
    instructions_left = instructions < instructions_left ? instructions_left - instructions : 0;
    if (instructions_left == 0) halt(Stop::instructions);
  }

  /// Makes the next Lua instruction the last.
  void halt(Stop why) {
    if (stop != Stop::none) return;
    stop = why;
    note_position();
    arm(1);
  }

  /// Notes the innermost line of Lua. Allocates nothing in Lua, so the allocator may ask.
  void note_position() {
    position.clear();
    lua_Debug frame;
    for (int level = 0; lua != nullptr && lua_getstack(lua, level, &frame) != 0; ++level) {
      lua_getinfo(lua, "Sl", &frame);
      if (frame.currentline <= 0) continue;
      position = fmt::format("{}:{}: ", frame.short_src, frame.currentline);
      return;
    }
  }

  /// Raises the stop. Its text waits in the meter: making a string here could fail for want of
  /// memory.
  [[noreturn]] void raise() {
    arm(1);  // from now on each instruction ends here, whatever __close or comparison runs on the
             // way out
    lua_pushlightuserdata(lua, this);
    lua_error(lua);
    std::abort();  // lua_error does not return
  }

  static void on_count(lua_State* lua, lua_Debug*) {
    Meter& meter = of(lua);
    meter.charge(meter.interval);
    if (thread_cpu_ns() > meter.deadline_cpu_ns) meter.halt(Stop::time);
    if (meter.stop != Stop::none) meter.raise();
    meter.arm(std::min(hook_interval, meter.instructions_left));
  }

  /// Says no to an allocation. Lua then collects all garbage and asks again, so a rule that lives
  /// just below the limit would spend a collection on each small string: a few are enough.
  void* refuse(Stop why) {
    if (stop == Stop::none) note_position();
    refusal = why;
    lua_Debug frame;
    recursing = lua != nullptr && lua_getstack(lua, deep_recursion, &frame) != 0;
    if (++refusals > max_refusals) halt(why);
    return nullptr;
  }

  /// lua_Alloc. For a new block (`block` null) `old_size` says what it is for.
  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
    Meter& meter = *static_cast<Meter*>(self);
    const std::size_t old_bytes = block != nullptr ? old_size : 0;
    if (new_size == 0) {
      std::free(block);
      meter.used_bytes -= old_bytes;
      return nullptr;
    }
    if (new_size > old_bytes) {
      if (block == nullptr && old_size == LUA_TSTRING &&
          new_size > max_string_bytes + string_header_bytes)
        return meter.refuse(Stop::string);
      if (new_size - old_bytes > meter.limits.memory_bytes - meter.used_bytes)
        return meter.refuse(Stop::memory);
      meter.charge(1 + static_cast<std::int64_t>(
                           new_size / 64));  // one instruction can copy megabytes: `long .. "x"`
    }
    void* moved = std::realloc(block, new_size);
    if (moved == nullptr) return meter.refuse(Stop::memory);
    meter.used_bytes += new_size - old_bytes;  // wraps as it should where the block shrinks
    return moved;
  }

  /// After a failed call with its error on top of the stack: whether the rule may not catch it.
  bool is_final(int status) {
    if (stop == Stop::none) {
      // luaL_Buffer reports a refused allocation as a plain string.
      const bool out_of_memory =
          status == LUA_ERRMEM || (lua_type(lua, -1) == LUA_TSTRING &&
                                   lua_tostring(lua, -1) == std::string_view("not enough memory"));
      if (out_of_memory) stop = refusal;
      if (status < 0) {
        stop = Stop::exception;
        position.clear();  // Lua has unwound without telling
      }
    }
    return stop != Stop::none;
  }

  /// What to say of the error on top of the stack. Calls nothing of the rule's: __tostring would
  /// run without a budget.
  std::string describe(int status) {
    std::string message;
    if (is_final(status)) {
      message = position + stop_text();
    } else if (lua_type(lua, -1) == LUA_TSTRING) {
      std::size_t length = 0;
      const char* text = lua_tolstring(lua, -1, &length);
      message.assign(text, length);
    } else if (lua_isinteger(lua, -1)) {
      message = fmt::format("{}", lua_tointeger(lua, -1));
    } else if (lua_type(lua, -1) == LUA_TNUMBER) {
      message = fmt::format("{}", lua_tonumber(lua, -1));
    } else {
      message = fmt::format("the error is a {}, not a text", luaL_typename(lua, -1));
    }
    return names_a_line(message) ? message : chunk_name + ": " + message;
  }

  std::string stop_text() const {
    switch (stop) {
      case Stop::none: break;
      case Stop::instructions:
        return fmt::format("stopped after {} instructions (endless loop?)", limits.instructions);
      case Stop::time:
        return fmt::format("stopped after {} ms of processor time (endless loop?)",
                           limits.cpu_ns / 1'000'000);
      case Stop::memory:
        return fmt::format(
            "rule used more than {} {}{}",
            limits.memory_bytes >= 1u << 20 ? limits.memory_bytes >> 20 : limits.memory_bytes >> 10,
            limits.memory_bytes >= 1u << 20 ? "MiB" : "KiB",
            recursing ? " (endless recursion?)" : "");
      case Stop::string:
        return fmt::format("rule made a string of more than {} MiB", max_string_bytes >> 20);
      case Stop::exception: return "a C++ exception left a verb (not made with lua_verb?)";
    }
    return {};
  }

  /// Called where Lua fails outside any protected call, that is in the engine's own pushes: aborts
  /// if it returns.
  static int on_panic(lua_State* lua) { throw LuaError(of(lua).describe(LUA_ERRRUN)); }
};

// ---------------------------------------------------------------------------------------------------------------------
// The library

/// The functions that rules call in place of Lua's. Lua's own, where wrapped, is upvalue 1 and runs
/// in our frame, so that its errors name the rule's line.
struct SandboxLibrary {
  using Meter = LuaSandbox::Meter;

  static int original(lua_State* lua) { return lua_tocfunction(lua, lua_upvalueindex(1))(lua); }

  // --- order

  /// A number or a string in the order of pairs. The text lives as long as its string in Lua.
  struct Key {
    bool is_text = false;
    long double number = 0;  // holds both an int64 and a double exactly
    std::string_view text;
    lua_Integer index = 0;  // where it was found: makes sorting stable

    bool operator<(const Key& other) const {
      if (is_text != other.is_text) return other.is_text;
      if (is_text ? text != other.text : number != other.number)
        return is_text ? text < other.text : number < other.number;
      return index < other.index;
    }
  };

  static Key key_at(lua_State* lua, int index) {
    Key key;
    if (lua_type(lua, index) == LUA_TSTRING) {
      key.is_text = true;
      key.text = to_view(lua, index);
    } else if (lua_type(lua, index) == LUA_TNUMBER) {
      key.number = lua_isinteger(lua, index) != 0
                       ? static_cast<long double>(lua_tointeger(lua, index))
                       : static_cast<long double>(lua_tonumber(lua, index));
      if (std::isnan(key.number)) luaL_error(lua, "nan has no order");
    } else {
      luaL_error(lua, "a %s has no order, only numbers and strings have",
                 luaL_typename(lua, index));
    }
    return key;
  }

  /// Sorts, and charges for it: long texts may share long beginnings.
  static void sort_keys(lua_State* lua, std::vector<Key>& keys) {
    std::int64_t work = 0;
    for (const Key& key : keys) work += 1 + static_cast<std::int64_t>(key.text.size() / 64);
    lua_charge(lua, work * std::bit_width(keys.size()));
    std::sort(keys.begin(), keys.end());
  }

  /// next(table [, key]): the smallest key above `key`. Lua's own order changes from run to run.
  static int next(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 2);
    std::optional<Key> after;
    if (!lua_isnil(lua, 2)) after = key_at(lua, 2);
    std::optional<Key> best;
    lua_pushnil(lua);  // the best key, at 3
    std::int64_t visited = 0;
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1), ++visited) {
      const Key key = key_at(lua, 4);
      if ((after && !(*after < key)) || (best && !(key < *best))) continue;
      best = key;
      lua_copy(lua, 4, 3);
    }
    lua_charge(lua, visited);
    lua_settop(lua, 3);
    if (!best) return 1;
    lua_pushvalue(lua, 3);
    lua_rawget(lua, 1);
    return 2;
  }

  /// The iterator of pairs. Upvalues: keys in order, how many are behind us, the table.
  static int pairs_next(lua_State* lua) {
    for (lua_Integer position = lua_tointeger(lua, lua_upvalueindex(2)) + 1;; ++position) {
      lua_settop(lua, 0);
      if (lua_rawgeti(lua, lua_upvalueindex(1), position) == LUA_TNIL) return 1;
      lua_pushvalue(lua, 1);
      if (lua_rawget(lua, lua_upvalueindex(3)) == LUA_TNIL) continue;  // removed on the way
      lua_pushinteger(lua, position);
      lua_replace(lua, lua_upvalueindex(2));
      return 2;
    }
  }

  static int pairs(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    lua_settop(lua, 1);
    std::vector<Key> keys;
    lua_newtable(lua);  // at 2: keeps the keys alive
    for (lua_pushnil(lua); lua_next(lua, 1) != 0; lua_pop(lua, 1)) {
      keys.push_back(key_at(lua, 3));
      keys.back().index = static_cast<lua_Integer>(keys.size());
      lua_pushvalue(lua, 3);
      lua_rawseti(lua, 2, keys.back().index);
    }
    sort_keys(lua, keys);
    push_reordered(lua, 2, keys.size(), [&](std::size_t i) { return keys[i].index; });
    lua_pushinteger(lua, 0);
    lua_pushvalue(lua, 1);
    lua_pushcclosure(lua, pairs_next, 3);
    return 1;
  }

  /// Pushes a new table of the `count` elements of the table at `source`, the i-th taken from
  /// `index_of(i)`.
  template <typename IndexOf>
  static void push_reordered(lua_State* lua, int source, std::size_t count, IndexOf index_of) {
    lua_createtable(lua, static_cast<int>(count), 0);
    for (std::size_t i = 0; i < count; ++i) {
      lua_rawgeti(lua, source, index_of(i));
      lua_rawseti(lua, -2, static_cast<lua_Integer>(i) + 1);
    }
  }

  // --- base

  /// A copy of the argument at `index` as text, pushed. Unlike Lua's it holds no address.
  static void push_text(lua_State* lua, int index) {
    luaL_checkany(lua, index);
    if (luaL_callmeta(lua, index, "__tostring") != 0) {
      if (lua_isstring(lua, -1) == 0) luaL_error(lua, "'__tostring' must return a string");
      return;
    }
    switch (lua_type(lua, index)) {
      case LUA_TNIL:
      case LUA_TBOOLEAN:
      case LUA_TNUMBER:
      case LUA_TSTRING: luaL_tolstring(lua, index, nullptr); break;
      default: lua_pushstring(lua, luaL_typename(lua, index));
    }
  }

  static int tostring(lua_State* lua) {
    push_text(lua, 1);
    return 1;
  }

  /// No __gc: Lua runs finalizers with hooks off, so one that loops would never be stopped. (One
  /// added to a metatable later has no effect.)
  static int setmetatable(lua_State* lua) {
    if (lua_istable(lua, 2)) {
      lua_pushliteral(lua, "__gc");
      if (lua_rawget(lua, 2) != LUA_TNIL) luaL_error(lua, "a metatable may not have __gc");
      lua_pop(lua, 1);
    }
    return original(lua);
  }

  /// Only for tables: through the metatable of strings a rule could change what all strings do, and
  /// through that of a verb's userdata call its methods, __gc too, on something else.
  static int getmetatable(lua_State* lua) {
    luaL_checkany(lua, 1);
    if (lua_istable(lua, 1)) return original(lua);
    lua_pushnil(lua);
    return 1;
  }

  /// lua_pcall that lets the end of a limit pass.
  static bool call_protected(lua_State* lua, int arguments, int results) {
    const int status = lua_pcall(lua, arguments, results, 0);
    Meter& meter = Meter::of(lua);
    if (status == LUA_OK) return true;
    if (meter.is_final(status)) meter.raise();
    meter.charge(throw_instructions);
    return false;
  }

  static int pcall(lua_State* lua) {
    luaL_checkany(lua, 1);
    lua_pushboolean(lua, 1);
    lua_insert(lua, 1);
    if (!call_protected(lua, lua_gettop(lua) - 2, LUA_MULTRET)) set_false(lua, 1);
    return lua_gettop(lua);
  }

  /// Calls the handler once the call has unwound. Lua calls it where the error is raised, and with
  /// hooks off if that was in a hook: an endless handler of an endless loop would never be stopped.
  static int xpcall(lua_State* lua) {
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_pushboolean(lua, 1);
    lua_pushvalue(lua, 1);
    lua_rotate(lua, 3, 2);  // function, handler, true, function, arguments...
    if (!call_protected(lua, lua_gettop(lua) - 4, LUA_MULTRET)) {
      lua_pushvalue(lua, 2);
      lua_insert(lua, 4);
      call_protected(lua, 1, 1);
      set_false(lua, 3);
    }
    return lua_gettop(lua) - 2;
  }

  static void set_false(lua_State* lua, int index) {
    lua_pushboolean(lua, 0);
    lua_replace(lua, index);
  }

  // --- table

  /// The length of the table at 1, which must be plain: Lua's table functions run without a hook,
  /// and __len, or a table that only has the keys 1, 2, 4, 8, ..., claims any length it likes.
  static lua_Integer checked_length(lua_State* lua) {
    luaL_checktype(lua, 1, LUA_TTABLE);
    for (const char* field : {"__index", "__newindex", "__len"})
      if (luaL_getmetafield(lua, 1, field) != LUA_TNIL)
        luaL_error(lua, "table functions take no table with %s", field);
    const lua_Unsigned length = lua_rawlen(lua, 1);
    if (length > max_elements) luaL_error(lua, "table too large");
    return static_cast<lua_Integer>(length);
  }

  /// insert and remove: those behind the position move, if one is given.
  template <int arguments_with_position>
  static int shift(lua_State* lua) {
    const lua_Integer length = checked_length(lua);
    if (lua_gettop(lua) >= arguments_with_position)
      lua_charge(lua, length - std::clamp<lua_Integer>(luaL_optinteger(lua, 2, length), 0, length));
    return original(lua);
  }

  static int concat(lua_State* lua) {
    lua_charge(lua, checked_length(lua));
    return original(lua);
  }

  /// For functions whose work is the results that they return (at most a million: Lua's stack).
  static int charge_results(lua_State* lua) {
    const int results = original(lua);
    lua_charge(lua, results);
    return results;
  }

  /// Stable, where Lua's quicksort leaves equals in an order that may hang on the clock.
  static int sort(lua_State* lua) {
    const auto length = static_cast<std::size_t>(checked_length(lua));
    const bool has_less = !lua_isnoneornil(lua, 2);
    if (has_less) luaL_checktype(lua, 2, LUA_TFUNCTION);
    lua_settop(lua, 2);
    if (length < 2) return 0;
    push_reordered(lua, 1, length, [](std::size_t i) {
      return static_cast<lua_Integer>(i) + 1;
    });  // at 3: the comparison may change the table
    std::vector<lua_Integer> order(length);
    if (has_less) {
      std::iota(order.begin(), order.end(), 1);
      merge_sort(lua, order);
    } else {
      std::vector<Key> keys;
      keys.reserve(length);
      for (std::size_t i = 1; i <= length; ++i) {
        lua_rawgeti(lua, 3, static_cast<lua_Integer>(i));
        keys.push_back(key_at(lua, -1));
        keys.back().index = static_cast<lua_Integer>(i);
        lua_pop(lua, 1);
      }
      sort_keys(lua, keys);
      std::transform(keys.begin(), keys.end(), order.begin(),
                     [](const Key& key) { return key.index; });
    }
    for (std::size_t i = 0; i < length; ++i) {
      lua_rawgeti(lua, 3, order[i]);
      lua_rawseti(lua, 1, static_cast<lua_Integer>(i) + 1);
    }
    return 0;
  }

  /// By the function at 2 over the values of the table at 3. Not a standard algorithm: those may do
  /// anything if a comparison contradicts itself.
  static void merge_sort(lua_State* lua, std::vector<lua_Integer>& order) {
    const auto less = [lua](lua_Integer left, lua_Integer right) {
      lua_pushvalue(lua, 2);
      lua_rawgeti(lua, 3, left);
      lua_rawgeti(lua, 3, right);
      lua_call(lua, 2, 1);
      const bool result = lua_toboolean(lua, -1) != 0;
      lua_pop(lua, 1);
      return result;
    };
    lua_charge(lua,
               static_cast<std::int64_t>(order.size()) *
                   std::bit_width(
                       order.size()));  // the comparison may be a C function, unseen by the hook
    std::vector<lua_Integer> merged(order.size());
    for (std::size_t width = 1; width < order.size(); width *= 2) {
      for (std::size_t begin = 0; begin < order.size(); begin += 2 * width) {
        const std::size_t middle = std::min(begin + width, order.size());
        const std::size_t end = std::min(begin + 2 * width, order.size());
        std::size_t left = begin;
        std::size_t right = middle;
        for (std::size_t out = begin; out < end; ++out)
          merged[out] = left == middle || (right < end && less(order[right], order[left]))
                            ? order[right++]
                            : order[left++];
      }
      order.swap(merged);
    }
  }

  // --- string

  /// Refuses %p, and prints what %s prints ourselves: both give addresses away.
  static int format(lua_State* lua) {
    const std::string_view format = to_view(lua, 1);
    luaL_argcheck(lua, format.size() <= max_format_bytes, 1, "format too long");
    int argument = 1;
    for (std::size_t i = format.find('%'); i < format.size(); i = format.find('%', i + 1)) {
      i = std::min(format.find_first_not_of("-+ #0123456789.", i + 1), format.size());
      const char conversion = i < format.size() ? format[i] : '\0';
      if (conversion == '%') continue;
      if (conversion == 'p')
        luaL_error(lua, "%%p is not available: addresses change from run to run");
      if (++argument > lua_gettop(lua) || conversion != 's') continue;
      push_text(lua, argument);
      lua_replace(lua, argument);
    }
    return original(lua);
  }

  /// Lua's runs a billion times over an empty string, and asks for all its memory before it looks.
  static int rep(lua_State* lua) {
    const std::string_view text = to_view(lua, 1);
    const lua_Integer count = luaL_checkinteger(lua, 2);
    const std::string_view separator =
        lua_isnoneornil(lua, 3) ? std::string_view() : to_view(lua, 3);
    const std::size_t step = text.size() + separator.size();
    if (count <= 0 || step == 0) {
      lua_pushliteral(lua, "");
      return 1;
    }
    if (static_cast<std::uint64_t>(count) > max_string_bytes / step + 1)
      luaL_error(lua, "resulting string too large");
    return original(lua);
  }

  static int glob(lua_State* lua) {
    const std::string_view text = to_view(lua, 1);
    const std::string_view pattern = to_view(lua, 2);
    luaL_argcheck(lua, pattern.size() <= max_pattern_bytes, 2, "pattern too long");
    lua_charge(lua, static_cast<std::int64_t>(1 + text.size() * pattern.size() / 64));
    lua_pushboolean(lua, glob_match(pattern, text));
    return 1;
  }

  static int split(lua_State* lua) {
    std::string_view text = to_view(lua, 1);
    const std::string_view separator = to_view(lua, 2);
    luaL_argcheck(lua, !separator.empty() && separator.size() <= max_separator_bytes, 2,
                  "1 to 64 bytes expected");
    lua_charge(lua, static_cast<std::int64_t>(text.size()));
    lua_newtable(lua);
    for (lua_Integer part = 1;; ++part) {
      const std::size_t end = text.find(separator);
      lua_pushlstring(lua, text.data(), std::min(end, text.size()));
      lua_rawseti(lua, -2, part);
      if (end == text.npos) return 1;
      text.remove_prefix(end + separator.size());
    }
  }

  static int starts_with(lua_State* lua) {
    lua_pushboolean(lua, to_view(lua, 1).starts_with(to_view(lua, 2)));
    return 1;
  }

  // --- the environment

  /// A name to keep from one of Lua's libraries, as it is (null), wrapped, or ours.
  struct Entry {
    const char* name;
    lua_CFunction ours = nullptr;
  };

  /// Opens one of Lua's libraries and pushes a table with only the entries named.
  static void push_library(lua_State* lua, lua_CFunction open,
                           std::initializer_list<Entry> entries) {
    lua_pushcfunction(lua, open);
    lua_call(lua, 0, 1);
    lua_newtable(lua);
    for (const Entry& entry : entries) {
      lua_getfield(lua, -2, entry.name);  // nil where the name is ours alone
      if (entry.ours != nullptr) lua_pushcclosure(lua, entry.ours, 1);
      lua_setfield(lua, -2, entry.name);
    }
    lua_remove(lua, -2);
  }

  static int open(lua_State* lua) {
    push_library(lua, luaopen_base,
                 {{"assert"},
                  {"error"},
                  {"getmetatable", getmetatable},
                  {"ipairs"},
                  {"next", next},
                  {"pairs", pairs},
                  {"pcall", pcall},
                  {"rawequal"},
                  {"rawget"},
                  {"rawlen"},
                  {"select"},
                  {"setmetatable", setmetatable},
                  {"tonumber"},
                  {"tostring", tostring},
                  {"type"},
                  {"xpcall", xpcall}});
    push_library(lua, luaopen_math,
                 {{"abs"}, {"acos"},       {"asin"}, {"atan"}, {"ceil"}, {"cos"}, {"deg"},
                  {"exp"}, {"floor"},      {"fmod"}, {"huge"}, {"log"},  {"max"}, {"maxinteger"},
                  {"min"}, {"mininteger"}, {"modf"}, {"pi"},   {"rad"},  {"sin"}, {"sqrt"},
                  {"tan"}, {"tointeger"},  {"type"}, {"ult"}});
    lua_setfield(lua, -2, "math");
    push_library(lua, luaopen_table,
                 {{"concat", concat},
                  {"insert", shift<3>},
                  {"pack"},
                  {"remove", shift<2>},
                  {"sort", sort},
                  {"unpack", charge_results}});
    lua_setfield(lua, -2, "table");
    // No find, match, gmatch, gsub: a pattern that backtracks is C code that no hook interrupts.
    push_library(lua, luaopen_string,
                 {{"byte", charge_results},
                  {"char"},
                  {"format", format},
                  {"glob", glob},
                  {"len"},
                  {"lower"},
                  {"rep", rep},
                  {"reverse"},
                  {"split", split},
                  {"starts_with", starts_with},
                  {"sub"},
                  {"upper"}});
    set_string_metatable(lua);
    lua_setfield(lua, -2, "string");
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -2, "_G");
    lua_rawseti(
        lua, LUA_REGISTRYINDEX,
        LUA_RIDX_GLOBALS);  // chunks loaded from now on see this; nothing sees Lua's own any more
    return 0;
  }

  /// Replaces the metatable of strings, which leads to Lua's whole string table, with one for the
  /// table on top of the stack.
  static void set_string_metatable(lua_State* lua) {
    lua_pushliteral(lua, "");
    lua_createtable(lua, 0, 1);
    lua_pushvalue(lua, -3);
    lua_setfield(lua, -2, "__index");
    lua_setmetatable(lua, -2);
    lua_pop(lua, 1);
  }
};

// ---------------------------------------------------------------------------------------------------------------------
// The sandbox

void lua_charge(lua_State* state, std::int64_t instructions) {
  SandboxLibrary::Meter::of(state).charge(instructions);
}

void lua_raise(lua_State* state, const char* message) {
  luaL_error(state, "%s", message);
  std::abort();  // luaL_error does not return
}

void LuaSandbox::Closer::operator()(lua_State* state) const { lua_close(state); }

LuaSandbox::LuaSandbox(SandboxLimits limits) : meter_(std::make_unique<Meter>()) {
  meter_->limits = limits;
  state_.reset(lua_newstate(Meter::allocate, meter_.get()));
  if (state_ == nullptr) throw LuaError("lua: no memory for a sandbox");
  meter_->lua = state_.get();
  lua_atpanic(state(), Meter::on_panic);
  lua_pushcfunction(state(), SandboxLibrary::open);
  finish(lua_pcall(state(), 0, 0, 0));
  reset_budget();
}

LuaSandbox::~LuaSandbox() = default;

lua_State* LuaSandbox::state() const { return state_.get(); }

void LuaSandbox::load(std::string_view source, std::string_view chunk_name) {
  meter_->chunk_name = chunk_name;
  if (source.size() > max_source_bytes)
    throw LuaError(fmt::format("{}: longer than {} KiB", chunk_name, max_source_bytes >> 10));
  meter_->position.clear();
  const std::string name = "@" + meter_->chunk_name;  // "@" says that it names a file
  // Text only: Lua does not check bytecode, and a forged chunk reads and writes where it likes.
  finish(luaL_loadbufferx(state(), source.data(), source.size(), name.c_str(), "t"));
  call(0, 1);
}

void LuaSandbox::call(int arguments, int results) {
  meter_->deadline_cpu_ns = thread_cpu_ns() + meter_->limits.cpu_ns;
  finish(lua_pcall(state(), arguments, results, 0));
}

void LuaSandbox::finish(int status) {
  if (status == LUA_OK) return;
  const std::string message = meter_->describe(status);
  lua_pop(state(), 1);
  throw LuaError(message);
}

void LuaSandbox::reset_budget() {
  meter_->instructions_left = meter_->limits.instructions;
  meter_->refusals = 0;
  meter_->stop = Stop::none;
  meter_->interval = 0;
  meter_->arm(std::clamp<std::int64_t>(meter_->limits.instructions, 1, hook_interval));
}

}  // namespace gh
