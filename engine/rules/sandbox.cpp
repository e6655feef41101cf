#include "rules/sandbox.hpp"

#include <fmt/format.h>
#include <lua.hpp>

#include <cstdlib>

#include "base/text.hpp"
#include "rules/sandbox/library.hpp"
#include "rules/sandbox/meter.hpp"

namespace gh {
namespace {

constexpr std::size_t max_message_width = 500;
// The parser has no hook, and takes quadratic time on a long `a and b and ...`.
constexpr std::size_t max_source_bytes = 128u << 10;

}  // namespace

LuaError::LuaError(std::string_view message)
    : std::runtime_error(shortened(printable(message), max_message_width)) {}

void lua_charge(lua_State* state, std::int64_t instructions) {
  sandbox::Meter::of(state).charge(instructions);
}

void lua_raise(lua_State* state, const char* message) {
  luaL_error(state, "%s", message);
  std::abort();  // luaL_error does not return
}

void LuaSandbox::Closer::operator()(lua_State* state) const { lua_close(state); }

LuaSandbox::LuaSandbox(SandboxLimits limits) : meter_(std::make_unique<sandbox::Meter>(limits)) {
  state_.reset(lua_newstate(sandbox::Meter::allocate, meter_.get()));
  if (state_ == nullptr) throw LuaError("lua: no memory for a sandbox");
  meter_->lua = state_.get();
  lua_atpanic(state(), sandbox::Meter::on_panic);
  lua_pushcfunction(state(), sandbox::open_library);
  finish(lua_pcall(state(), 0, 0, 0));
  reset_budget();
}

LuaSandbox::~LuaSandbox() = default;

lua_State* LuaSandbox::state() const { return state_.get(); }

void LuaSandbox::load(std::string_view source, std::string_view chunk_name) {
  meter_->chunk_name = chunk_name;
  if (source.size() > max_source_bytes) {
    throw LuaError(fmt::format("{}: longer than {} KiB", chunk_name, max_source_bytes >> 10));
  }
  meter_->forget_position();
  const std::string name = "@" + meter_->chunk_name;  // "@" says that it names a file
  // Text only: Lua does not check bytecode, and a forged chunk reads and writes where it likes.
  finish(luaL_loadbufferx(state(), source.data(), source.size(), name.c_str(), "t"));
  call(0, 1);
}

void LuaSandbox::call(int arguments, int results) {
  meter_->start_clock();
  finish(lua_pcall(state(), arguments, results, 0));
}

void LuaSandbox::finish(int status) {
  if (status == LUA_OK) return;
  const std::string message = meter_->describe(status);
  lua_pop(state(), 1);
  throw LuaError(message);
}

void LuaSandbox::reset_budget() { meter_->reset(); }

}  // namespace gh
