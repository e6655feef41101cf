#include "rules/sandbox/meter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/deadline.hpp"
#include "base/error.hpp"

namespace gh::sandbox {
namespace {

constexpr std::int64_t hook_interval = 1000;     // instructions between two checks of the budget
constexpr std::size_t string_header_bytes = 64;  // the least that Lua adds to a string
constexpr int deep_recursion = 50'000;  // nested calls: not a limit, but a hint for the message
constexpr int max_refusals = 16;        // each makes Lua collect all garbage

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// Whether `message` has the ":12:" that Lua puts after a file's name.
bool names_a_line(std::string_view message) {
  for (auto colon = message.find(':'); colon != message.npos;
       colon = message.find(':', colon + 1)) {
    const auto end = message.find_first_not_of("0123456789", colon + 1);
    if (end != message.npos && end > colon + 1 && message[end] == ':') return true;
  }
  return false;
}

// The text of an error that a rule raised.
std::string error_text(lua_State* lua) {
  if (lua_type(lua, -1) == LUA_TSTRING) {
    std::size_t length = 0;
    const char* text = lua_tolstring(lua, -1, &length);
    return {text, length};
  }
  if (lua_isinteger(lua, -1)) return fmt::format("{}", lua_tointeger(lua, -1));
  if (lua_type(lua, -1) == LUA_TNUMBER) return fmt::format("{}", lua_tonumber(lua, -1));
  return fmt::format("the error is a {}, not a text", luaL_typename(lua, -1));
}

// luaL_Buffer reports a refused allocation as a plain string.
bool is_out_of_memory(lua_State* lua, int status) {
  return status == LUA_ERRMEM || (lua_type(lua, -1) == LUA_TSTRING &&
                                  lua_tostring(lua, -1) == std::string_view("not enough memory"));
}

}  // namespace

void Meter::reset() {
  instructions_left_ = limits.instructions;
  text_bytes_left_ = limits.text_bytes;
  refusals_ = 0;
  stop_ = Stop::none;
  interval_ = 0;
  arm(std::clamp<std::int64_t>(limits.instructions, 1, hook_interval));
}

void Meter::start_clock() {
  deadline_cpu_ns_ = thread_cpu_ns() + std::min(limits.cpu_ns, time_left_ns());
}

// --- Instructions and time

// Calls the hook after this many more instructions. Safe at any time, as lua_sethook is; but that
// walks the call stack, hence the check.
void Meter::arm(std::int64_t instructions) {
  if (lua == nullptr || interval_ == instructions) return;
  interval_ = instructions;
  lua_sethook(lua, on_count, LUA_MASKCOUNT, static_cast<int>(instructions));
}

void Meter::on_count(lua_State* lua, lua_Debug*) {
  Meter& meter = of(lua);
  meter.charge(meter.interval_);
  meter.look_at_clock();
  if (meter.stop_ != Stop::none) meter.raise();
  meter.arm(std::min(hook_interval, meter.instructions_left_));
}

void Meter::look_at_clock() {
  if (thread_cpu_ns() > deadline_cpu_ns_) halt(Stop::time);
}

// Makes the next Lua instruction the last.
void Meter::halt(Stop why) {
  if (stop_ != Stop::none) return;
  stop_ = why;
  note_position();
  arm(1);
}

void Meter::throw_if_stopped() const {
  if (stop_ != Stop::none) throw Error("the rule has used up a limit");
}

void Meter::raise() {
  // From now on each instruction ends here, whatever __close or comparison runs on the way out.
  arm(1);
  // If a function has filled the stack with results, replaces the last one.
  if (lua_checkstack(lua, 1) == 0) lua_pop(lua, 1);
  lua_pushlightuserdata(lua, this);
  lua_error(lua);
  std::abort();  // lua_error does not return
}

// Records the innermost Lua line. Allocates nothing in Lua, so that the allocator may call it.
void Meter::note_position() {
  position_.clear();
  lua_Debug frame;
  for (int level = 0; lua != nullptr && lua_getstack(lua, level, &frame) != 0; ++level) {
    lua_getinfo(lua, "Sl", &frame);
    if (frame.currentline <= 0) continue;
    position_ = fmt::format("{}:{}: ", frame.short_src, frame.currentline);
    return;
  }
}

// --- Memory

void* Meter::allocate(void* self, void* block, std::size_t old_size, std::size_t new_size) {
  Meter& meter = *static_cast<Meter*>(self);
  const std::size_t old_bytes = block != nullptr ? old_size : 0;
  if (new_size == 0) {
    std::free(block);
    meter.used_bytes_ -= old_bytes;
    return nullptr;
  }
  if (new_size > old_bytes) {
    const bool is_string = block == nullptr && old_size == LUA_TSTRING;
    if (is_string && new_size > max_string_bytes + string_header_bytes) {
      return meter.refuse(Stop::string);
    }
    if (new_size - old_bytes > meter.limits.memory_bytes - meter.used_bytes_) {
      return meter.refuse(Stop::memory);
    }
    // One instruction can copy megabytes: `long .. "x"`.
    meter.charge(1 + static_cast<std::int64_t>(new_size / 64));
  }
  void* moved = std::realloc(block, new_size);
  if (moved == nullptr) return meter.refuse(Stop::memory);
  meter.used_bytes_ += new_size - old_bytes;  // wraps correctly if the block shrinks
  return moved;
}

// Refuses an allocation. Lua then collects all garbage and tries again, so a rule just below the
// limit would trigger a collection for each small string: a few are enough.
void* Meter::refuse(Stop why) {
  if (stop_ == Stop::none) note_position();
  refusal_ = why;
  lua_Debug frame;
  recursing_ = lua != nullptr && lua_getstack(lua, deep_recursion, &frame) != 0;
  if (++refusals_ > max_refusals) halt(why);
  return nullptr;
}

// --- Errors

bool Meter::is_final(int status) {
  if (stop_ == Stop::none) {
    if (is_out_of_memory(lua, status)) stop_ = refusal_;
    if (status < 0) {  // a C++ exception that is not Lua's
      stop_ = Stop::exception;
      position_.clear();  // Lua has unwound without a position
    }
  }
  return stop_ != Stop::none;
}

std::string Meter::describe(int status) {
  const std::string message = is_final(status) ? position_ + stop_text() : error_text(lua);
  return names_a_line(message) ? message : chunk_name + ": " + message;
}

std::string Meter::stop_text() const {
  switch (stop_) {
    case Stop::none: break;
    case Stop::instructions:
      return fmt::format("stopped after {} instructions (endless loop?)", limits.instructions);
    case Stop::time:
      return fmt::format("stopped after {} ms of processor time (endless loop?)",
                         limits.cpu_ns / 1'000'000);
    case Stop::memory: {
      const bool in_mib = limits.memory_bytes >= 1u << 20;
      return fmt::format("rule used more than {} {}{}", limits.memory_bytes >> (in_mib ? 20 : 10),
                         in_mib ? "MiB" : "KiB", recursing_ ? " (endless recursion?)" : "");
    }
    case Stop::string:
      return fmt::format("rule created a string of more than {} MiB", max_string_bytes >> 20);
    case Stop::text:
      return fmt::format("rule passed more than {} {} of text in filters or findings",
                         limits.text_bytes >> (limits.text_bytes >= 1u << 20 ? 20 : 10),
                         limits.text_bytes >= 1u << 20 ? "MiB" : "KiB");
    case Stop::report: return over_limit_;
    case Stop::exception: return "a C++ exception left a verb (not made with lua_verb?)";
  }
  return {};
}

int Meter::on_panic(lua_State* lua) { throw LuaError(of(lua).describe(LUA_ERRRUN)); }

}  // namespace gh::sandbox
