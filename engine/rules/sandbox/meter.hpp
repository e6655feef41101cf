// How much of its limits a rule has used, and ending a rule that has used them up.
#pragma once
#include <lua.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "rules/sandbox.hpp"

namespace gh::sandbox {

/// Comparing strings is one instruction, however long they are.
constexpr std::size_t max_string_bytes = 1u << 20;

/// Why a rule has to stop. Once a limit is hit, that is final, so that no pcall can swallow it.
enum class Stop { none, instructions, time, memory, string, text, report, exception };

/// Lua stores it as the user data of its allocator.
class Meter {
 public:
  explicit Meter(SandboxLimits of_rule) : limits(of_rule) {}

  const SandboxLimits limits;
  lua_State* lua = nullptr;  ///< null while the state is being created
  std::string chunk_name = "lua";

  static Meter& of(lua_State* lua) {
    void* self = nullptr;
    lua_getallocf(lua, &self);
    return *static_cast<Meter*>(self);
  }

  /// Restores the full budget.
  void reset();
  /// Begins a load or call, which may take limits.cpu_ns, or what is left of the report's time.
  void start_clock();
  /// Before a chunk is compiled, which has no lines yet.
  void forget_position() { position_.clear(); }

  void charge(std::int64_t instructions) {
    if (instructions <= 0) return;
    instructions_left_ = instructions < instructions_left_ ? instructions_left_ - instructions : 0;
    if (instructions_left_ == 0) halt(Stop::instructions);
  }

  /// The same for C++ code that no hook interrupts, before it does the work; checks the clock now
  /// and then. Has to be followed by raise_if_stopped or throw_if_stopped.
  void spend(std::int64_t instructions) {
    charge(instructions);
    if (++spent_times_ % spent_between_looks == 0) look_at_clock();
  }

  std::int64_t instructions_left() const { return instructions_left_; }

  /// Counts text that is passed to C++.
  void take_text(std::size_t bytes) {
    if (bytes > text_bytes_left_) halt(Stop::text);
    text_bytes_left_ -= std::min(bytes, text_bytes_left_);
  }

  /// The report has more of something than a verb takes on. Has to be followed by throw_if_stopped.
  void give_up(std::string reason) {
    if (stop_ == Stop::none) over_limit_ = std::move(reason);
    halt(Stop::report);
  }
  /// Its reason, if that is what has stopped the rule; else null.
  const std::string* over_limit() const { return stop_ == Stop::report ? &over_limit_ : nullptr; }

  /// Ends a verb, or the reading of a rule's results, at once: throws Error. The limit's own
  /// message is added where the call ends.
  void throw_if_stopped() const;
  /// Calls raise() if there is a stop.
  void raise_if_stopped() {
    if (stop_ != Stop::none) raise();
  }

  /// Raises the stop. Its message waits here: creating a string in Lua could run out of memory.
  [[noreturn]] void raise();

  /// After a failed call, with its error on top of the stack: whether the rule must not catch it.
  bool is_final(int status);

  /// The message for the error on top of the stack, with a file and if possible a line. Calls no
  /// code of the rule: __tostring would run without a budget.
  std::string describe(int status);

  /// lua_Alloc. For a new block (`block` is null) `old_size` says what it is for.
  static void* allocate(void* self, void* block, std::size_t old_size, std::size_t new_size);

  /// lua_CFunction that Lua calls when it fails outside of any protected call, that is in the
  /// engine's own pushes. Throws LuaError: Lua aborts if it returns.
  static int on_panic(lua_State* lua);

 private:
  // A check costs as much as a hundred instructions; a single charge takes milliseconds at most.
  static constexpr unsigned spent_between_looks = 64;

  static void on_count(lua_State* lua, lua_Debug*);
  void arm(std::int64_t instructions);
  void look_at_clock();
  void halt(Stop why);
  void* refuse(Stop why);
  void note_position();
  std::string stop_text() const;

  // The library is created with the defaults; reset() applies the rule's limits.
  std::int64_t instructions_left_ = SandboxLimits{}.instructions;
  std::size_t text_bytes_left_ = SandboxLimits{}.text_bytes;
  std::int64_t interval_ = 0;  // of the hook, as armed
  std::int64_t deadline_cpu_ns_ = 0;
  unsigned spent_times_ = 0;
  std::size_t used_bytes_ = 0;
  int refusals_ = 0;             // of the allocator
  Stop refusal_ = Stop::memory;  // why it last refused
  bool recursing_ = false;       // at the time of that refusal
  Stop stop_ = Stop::none;
  std::string over_limit_;
  std::string position_;  // "file.lua:12: " of the last refusal or stop
};

}  // namespace gh::sandbox
