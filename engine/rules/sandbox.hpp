// A Lua state in which a rule can do no harm: no files, no clock, no randomness, no addresses, and
// a bound on instructions, memory and time that no Lua code, hostile or merely wrong, can talk its
// way around.
//
// What a rule finds there (sandbox/library.cpp)
//   base    assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen select
//           setmetatable tonumber tostring type xpcall _G
//   math    all but random and randomseed
//   string  byte char format len lower rep reverse sub upper, and our glob short split starts_with
//   table   concat insert pack remove sort unpack
//
// Where they differ from Lua's
//   pairs, next   visit keys in order: numbers ascending, then strings by bytes; a key of another
//                 type is an error. pairs visits the keys that were there when it started, less
//                 those removed since.
//   table.sort    is stable; without a comparison it sorts numbers and strings, in that same order.
//   table.*       refuse tables whose metatable has __index, __newindex or __len.
//   tostring, %s  print "table", "function", "userdata", never an address; %p is refused.
//   setmetatable  refuses __gc, __mode, and a __call that is no function; takes a copy: what is
//                 written to the metatable later has no effect.
//   getmetatable  answers for tables only.
//   pcall, xpcall catch errors, but not the end of a limit. xpcall's handler runs after the call
//                 has unwound.
//   strings       are at most 1 MiB long, and no numbers: "1" + 1 is an error.
//
// What Lua has not
//   glob(text, pattern)        whether the whole text matches: `*` any run, `?` any byte, the rest
//                              literally (glob_match of text.hpp). Not sqlite3_strglob, which takes
//                              |text| to the power of the stars.
//   short(text, most = 60)      the text, its middle replaced by ... where it has more letters
//   split(text, separator)     the parts between plain separators of 1 to 64 bytes
//   starts_with(text, prefix)
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

struct lua_State;

namespace gh {

namespace sandbox {
class Meter;
}

/// What one rule may use: far more than a rule needs, which asks for facts and compares them, and
/// little enough to wait for.
struct SandboxLimits {
  /// Lua instructions, and C++ work charged as instructions: some 0.2 s of an endless loop.
  std::int64_t instructions = 50'000'000;
  /// Bytes that Lua holds at one time, garbage not yet collected included; sorting borrows up to
  /// twice as many for a moment. Rules see aggregates, never millions of rows.
  std::size_t memory_bytes = 64u << 20;
  /// Bytes of text that a rule hands to C++: filters and patterns, and all that its findings say.
  /// Findings are read by people, and a Lua string of 1 MiB may stand in a thousand places.
  std::size_t text_bytes = 8u << 20;
  /// Processor time of one load() or run(). Only a backstop, 50 times what all the instructions
  /// should take: some single instructions are slow (comparing two long strings of zeros takes 10
  /// ms), and the count alone would let hours of them pass.
  std::int64_t cpu_ns = 10'000'000'000;
};

/// A rule went wrong. what() is one printable line of at most 500 characters, "file.lua:12:
/// message" ("file.lua: message" where no line is known).
struct LuaError : std::runtime_error {
  explicit LuaError(std::string_view message);
};

/// One Lua state and its limits. For one thread at a time.
class LuaSandbox {
 public:
  explicit LuaSandbox(SandboxLimits limits = {});
  ~LuaSandbox();
  LuaSandbox(const LuaSandbox&) = delete;
  LuaSandbox& operator=(const LuaSandbox&) = delete;

  /// Compiles and runs `source`, Lua text of at most 128 KiB, and keeps its one result (nil if
  /// none) for run(). `chunk_name` stands in messages; Lua shortens one of more than 59 bytes to
  /// "..." and its end. Throws LuaError; what was kept before stays then.
  void load(std::string_view source, std::string_view chunk_name);

  /// Calls body(lua_State*) in a protected call: the only way to the state, so that an error of
  /// Lua's, be it for want of memory, never meets the state half changed. What load() kept is at
  /// index 1, alone on the stack, with room for LUA_MINSTACK values. Spends what is left of the
  /// budget. A Lua error comes out as LuaError, an exception as it is. The sandbox stays good.
  template <class Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    enter([](void* b, lua_State* lua) { (*static_cast<Plain*>(b))(lua); },
          const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

  /// Gives the full budget back. Needed before the next run if a limit stopped the last one. Not
  /// for use inside of one.
  void reset_budget();

 private:
  using Entry = void (*)(void* body, lua_State* lua);
  void enter(Entry entry, void* body);
  void finish(int status);

  struct Closer {
    void operator()(lua_State* state) const;
  };
  std::unique_ptr<sandbox::Meter> meter_;  // Lua holds its address, so it outlives the state
  std::unique_ptr<lua_State, Closer> state_;
};

/// Counts C++ work that will be done for a rule as Lua instructions. Throws Error where they are
/// used up. A verb that walks rows spends them (one per 10 ns or so), or a loop around it costs
/// hours before a count of instructions notices. Every verb spends at least one: Lua calls some
/// again and again with no instruction of its own between, as the comparison of a sort.
void lua_spend(lua_State* state, std::int64_t instructions);

/// Counts text that is copied out of Lua: see SandboxLimits::text_bytes. Throws Error where a rule
/// hands over too much; the rule is stopped.
void lua_take_text(lua_State* state, std::size_t bytes);

/// Raises `message` as a Lua error with the line of the Lua code that called the running verb.
[[noreturn]] void lua_raise(lua_State* state, const char* message);

/// A verb as Lua wants it: an exception out of `verb` becomes a Lua error with its text. Without
/// this Lua's pcall swallows it, text and all.
template <int (*verb)(lua_State*)>
int lua_verb(lua_State* state) {
  try {
    return verb(state);
  } catch (const std::bad_alloc&) {
    lua_raise(state, "not enough memory for what the rule asks");
  } catch (const std::exception& exception) {  // Lua's own errors are not of this type and pass
    lua_raise(state, exception.what());
  }
}

}  // namespace gh
