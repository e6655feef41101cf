#include "rules/sandbox.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <cstdlib>
#include <exception>

#include "base/text.hpp"
#include "rules/sandbox/library.hpp"
#include "rules/sandbox/meter.hpp"

namespace gh {
namespace {

constexpr std::size_t max_message_width = 500;
// The parser has no hook, and takes quadratic time for a long `a and b and ...`.
constexpr std::size_t max_source_bytes = 128u << 10;

// The argument of run(), and the exception that it threw, which Lua would swallow.
struct Running {
  void (*entry)(void* body, lua_State* lua);
  void* body;
  std::exception_ptr thrown;
};

// lua_CFunction. Takes a Running and the kept value.
int call_body(lua_State* lua) {
  auto& running = *static_cast<Running*>(lua_touserdata(lua, 1));
  lua_remove(lua, 1);
  try {
    running.entry(running.body, lua);
  } catch (const std::exception&) {  // Lua's own errors have another type and pass through
    running.thrown = std::current_exception();
  }
  sandbox::Meter::of(lua).raise_if_stopped();
  return 0;
}

}  // namespace

LuaError::LuaError(std::string_view message)
    : std::runtime_error(shortened(printable(message), max_message_width)) {}

void lua_spend(lua_State* state, std::int64_t instructions) {
  sandbox::Meter& meter = sandbox::Meter::of(state);
  meter.spend(instructions);
  meter.throw_if_stopped();
}

void lua_take_text(lua_State* state, std::size_t bytes) {
  sandbox::Meter& meter = sandbox::Meter::of(state);
  meter.take_text(bytes);
  meter.throw_if_stopped();
}

std::int64_t lua_instructions_left(lua_State* state) {
  return sandbox::Meter::of(state).instructions_left();
}

void lua_give_up(lua_State* state, std::string reason) {
  sandbox::Meter& meter = sandbox::Meter::of(state);
  meter.give_up(std::move(reason));
  meter.throw_if_stopped();
  std::abort();  // it is stopped
}

void lua_raise(lua_State* state, const char* message) {
  luaL_error(state, "%s", message);
  std::abort();  // luaL_error does not return
}

void LuaSandbox::Closer::operator()(lua_State* state) const { lua_close(state); }

LuaSandbox::LuaSandbox(SandboxLimits limits) : meter_(std::make_unique<sandbox::Meter>(limits)) {
  state_.reset(lua_newstate(sandbox::Meter::allocate, meter_.get()));
  if (state_ == nullptr) throw LuaError("lua: no memory for a sandbox");
  lua_State* lua = state_.get();
  meter_->lua = lua;
  lua_atpanic(lua, sandbox::Meter::on_panic);
  lua_pushcfunction(lua, sandbox::open_library);
  finish(lua_pcall(lua, 0, 0, 0));
  lua_pushnil(lua);  // the value that load() keeps
  reset_budget();
}

LuaSandbox::~LuaSandbox() = default;

LuaCode LuaSandbox::compile(std::string_view source, std::string_view chunk_name) {
  meter_->chunk_name = chunk_name;
  if (source.size() > max_source_bytes) {
    throw LuaError(fmt::format("{}: longer than {} KiB", chunk_name, max_source_bytes >> 10));
  }
  meter_->forget_position();
  const std::string name = "@" + meter_->chunk_name;  // "@" marks a file name
  // Text only: Lua does not verify bytecode, and forged chunks can read and write anywhere.
  lua_State* lua = state_.get();
  finish(luaL_loadbufferx(lua, source.data(), source.size(), name.c_str(), "t"));
  LuaCode code;
  code.chunk_name_ = chunk_name;
  const lua_Writer append = [](lua_State*, const void* bytes, std::size_t count, void* to) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), count);
    return 0;
  };
  lua_dump(lua, append, &code.bytes_, 0);  // with lines and names, for messages
  lua_pop(lua, 1);
  return code;
}

int LuaSandbox::push(lua_State* lua, const LuaCode& code) {
  return luaL_loadbufferx(lua, code.bytes_.data(), code.bytes_.size(), code.chunk_name_.c_str(),
                          "b");
}

void LuaSandbox::load(const LuaCode& code) {
  meter_->chunk_name = code.chunk_name_;
  meter_->forget_position();
  lua_State* lua = state_.get();
  finish(push(lua, code));
  meter_->start_clock();
  finish(lua_pcall(lua, 0, 1, 0));
  lua_replace(lua, 1);
}

void LuaSandbox::enter(Entry entry, void* body) {
  Running running{entry, body, nullptr};
  lua_State* lua = state_.get();
  meter_->start_clock();
  // Nothing here allocates: light values fit into the slots that every state has.
  lua_pushcfunction(lua, call_body);
  lua_pushlightuserdata(lua, &running);
  lua_pushvalue(lua, 1);
  finish(lua_pcall(lua, 2, 0, 0));
  if (running.thrown) std::rethrow_exception(running.thrown);
}

void LuaSandbox::finish(int status) {
  if (status == LUA_OK) return;
  const std::string message = meter_->describe(status);
  lua_pop(state_.get(), 1);
  if (meter_->over_limit()) throw OverLimit(meter_->over_limit()->c_str());
  throw LuaError(message);
}

void LuaSandbox::reset_budget() { meter_->reset(); }

}  // namespace gh
