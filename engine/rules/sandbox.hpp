// A Lua state in which a rule can do no harm: no files, no clock, no randomness, no addresses, and
// limits on instructions, memory and time that no Lua code, malicious or just wrong, can get
// around.
//
// What a rule can use (sandbox/library.cpp)
//   base    assert error getmetatable ipairs next pairs pcall rawequal rawget rawlen require select
//           setmetatable tonumber tostring type xpcall _G
//   math    all but random and randomseed
//   string  byte char format len lower rep reverse sub upper, and our glob short split starts_with
//   table   concat insert pack remove sort unpack
//
// Where these differ from Lua's
//   pairs, next   visit keys in order: numbers ascending, then strings by bytes; a key of another
//                 type is an error. pairs visits the keys that existed when it started, without
//                 those removed since.
//   table.sort    is stable; without a comparison it sorts numbers and strings in that order.
//   table.*       reject tables whose metatable has __index, __newindex or __len.
//   tostring, %s  print "table", "function", "userdata", never an address; %p is rejected.
//   setmetatable  rejects __gc, __mode, and a __call that is not a function; it takes a copy, so
//                 later changes to the metatable have no effect.
//   getmetatable  works for tables only.
//   require       returns what one of the program's own libraries returns, and knows no others.
//   pcall, xpcall catch errors, but not exhausted limits. xpcall's handler runs after the call
//                 has unwound.
//   strings       are at most 1 MiB long and do not convert to numbers: "1" + 1 is an error.
//
// What Lua does not have
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
#include <vector>

struct lua_State;

namespace gh {

namespace sandbox {
class Meter;
}

/// What one rule may use: far more than a rule needs, which asks for facts and compares them, but
/// little enough to wait for.
struct SandboxLimits {
  /// Lua instructions, and C++ work charged as instructions: about 0.2 s of an endless loop.
  std::int64_t instructions = 50'000'000;
  /// Bytes that Lua holds at one time, including garbage not yet collected; sorting briefly borrows
  /// up to twice as many. Rules see aggregates, never millions of rows.
  std::size_t memory_bytes = 64u << 20;
  /// Bytes of text that a rule passes to C++: filters, patterns and all text of its findings.
  /// People read findings, and a Lua string of 1 MiB could otherwise appear in a thousand places.
  std::size_t text_bytes = 8u << 20;
  /// Processor time of one load() or run(). Only a backstop, at 50 times what all the instructions
  /// should take: some single instructions are slow (comparing two long strings of zeros takes 10
  /// ms), and the instruction count alone would let hours of them pass.
  std::int64_t cpu_ns = 10'000'000'000;
};

/// A rule failed. what() is one printable line of at most 500 characters, "file.lua:12: message"
/// ("file.lua: message" if the line is unknown).
struct LuaError : std::runtime_error {
  explicit LuaError(std::string_view message);
};

/// A rule asked for more than a verb takes on of this report. No fault of the rule: it cannot check
/// the report. what() says why, without a file.
struct OverLimit : LuaError {
  using LuaError::LuaError;
};

/// Lua that a sandbox has compiled, for any number of them to run: a rule is read once and asked
/// twice, each time in a sandbox of its own, and compiling takes five times as long as loading what
/// it made. Only a sandbox makes it, since Lua does not verify compiled code: forged code can read
/// and write anywhere.
class LuaCode {
 public:
  LuaCode() = default;

 private:
  friend class LuaSandbox;
  std::string chunk_name_, bytes_;
};

/// One Lua state and its limits. For use by one thread at a time.
class LuaSandbox {
 public:
  explicit LuaSandbox(SandboxLimits limits = {});
  ~LuaSandbox();
  LuaSandbox(const LuaSandbox&) = delete;
  LuaSandbox& operator=(const LuaSandbox&) = delete;

  /// Compiles `source`, Lua text of at most 128 KiB. `chunk_name` appears in messages; Lua shortens
  /// a name of more than 59 bytes to "..." and its end. Throws LuaError.
  LuaCode compile(std::string_view source, std::string_view chunk_name);

  /// Runs the code, and keeps its one result (nil if none) for run(). Throws LuaError, and then
  /// keeps the previous result.
  void load(const LuaCode& code);
  void load(std::string_view source, std::string_view chunk_name) {
    load(compile(source, chunk_name));
  }

  /// Calls body(lua_State*) in a protected call. This is the only access to the state, so that a
  /// Lua error, even one for lack of memory, never leaves the state half changed. What load() kept
  /// is at index 1, alone on the stack, with room for LUA_MINSTACK values. Uses up the rest of the
  /// budget. Lua errors come out as LuaError, exceptions as they are. The sandbox remains usable.
  template <class Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    enter([](void* b, lua_State* lua) { (*static_cast<Plain*>(b))(lua); },
          const_cast<void*>(static_cast<const void*>(std::addressof(body))));
  }

  /// Restores the full budget. Needed before the next run if a limit stopped the last one. Not for
  /// use inside a run.
  void reset_budget();

  /// Pushes the code onto the stack of any sandbox's state, as a function. Returns Lua's status,
  /// and pushes the error where that is not LUA_OK.
  static int push(lua_State* state, const LuaCode& code);

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

/// Charges C++ work that is about to be done for a rule as Lua instructions. Throws Error if they
/// are used up. A verb that scans rows has to charge them (one per 10 ns or so), or a loop around
/// it takes hours before the instruction count notices. Every verb charges at least one: Lua calls
/// some repeatedly without an instruction in between, such as a sort's comparison.
void lua_spend(lua_State* state, std::int64_t instructions);

/// How many instructions the rule has left.
std::int64_t lua_instructions_left(lua_State* state);

/// Ends the rule, whatever it catches: run() throws OverLimit with this reason, a clause.
[[noreturn]] void lua_give_up(lua_State* state, std::string reason);

/// A file of Lua that rules share: rules/CATEGORY/NAME.lib.lua, which returns one value.
inline constexpr std::string_view library_suffix = ".lib.lua";
std::vector<std::string> library_names();
/// The text of one of them. Throws Error if there is none.
std::string_view library_text(const std::string& name);
/// Pushes what a library returns, which is run once in each state. Throws Error if there is none.
void lua_require(lua_State* state, const std::string& name);

/// Charges text that is copied out of Lua: see SandboxLimits::text_bytes. Throws Error if a rule
/// passes too much; the rule is stopped.
void lua_take_text(lua_State* state, std::size_t bytes);

/// Raises `message` as a Lua error with the line of the Lua code that called the running verb.
[[noreturn]] void lua_raise(lua_State* state, const char* message);

/// A verb as Lua needs it: turns an exception from `verb` into a Lua error with its text. Otherwise
/// Lua's pcall would swallow it, including the text.
template <int (*verb)(lua_State*)>
int lua_verb(lua_State* state) {
  try {
    return verb(state);
  } catch (const std::bad_alloc&) {
    lua_raise(state, "not enough memory for the rule's request");
  } catch (
      const std::exception& exception) {  // Lua's own errors have another type and pass through
    lua_raise(state, exception.what());
  }
}

}  // namespace gh
