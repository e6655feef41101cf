// Runs Lua source in a sandbox, for its result or its error.
#pragma once
#include <doctest/doctest.h>
#include <lua.hpp>

#include <string>
#include <string_view>

#include "rules/sandbox.hpp"
#include "support/support.hpp"

namespace support {

using gh::LuaError;
using gh::LuaSandbox;
using gh::SandboxLimits;

// Few enough to be fast even with sanitizers; the protections do not depend on the size.
inline constexpr SandboxLimits small{.instructions = 200'000, .memory_bytes = 4u << 20};
inline constexpr SandboxLimits roomy{.instructions = 1'000'000'000,
                                     .memory_bytes = 4u << 20};  // for attacks on memory
inline const std::string endless = "stopped after 200000 instructions (endless loop?)";

// What `source` returns, which must be a string, a number or a boolean.
inline std::string value_in(LuaSandbox& sandbox, std::string_view source) {
  sandbox.load(source, "rule.lua");
  std::string text;
  sandbox.run([&](lua_State* lua) {
    REQUIRE(lua_gettop(lua) == 1);
    text = lua_isboolean(lua, 1) ? (lua_toboolean(lua, 1) ? "true" : "false")
           : lua_isnil(lua, 1)   ? "nil"
                                 : luaL_checkstring(lua, 1);
  });
  return text;
}

// Makes a function a global.
inline void set_function(LuaSandbox& sandbox, const char* name, lua_CFunction function) {
  sandbox.run([&](lua_State* lua) { lua_register(lua, name, function); });
}

inline std::string value_of(std::string_view source, SandboxLimits limits = small) {
  LuaSandbox sandbox(limits);
  return value_in(sandbox, source);
}

// The text of the error that `source` ends with. Checks that the sandbox still works afterwards.
inline std::string lua_error(std::string_view source, SandboxLimits limits = small,
                             std::string_view name = "rule.lua") {
  LuaSandbox sandbox(limits);
  std::string text;
  try {
    sandbox.load(source, name);
    FAIL("no error from: ", std::string(source));
  } catch (const LuaError& error) {
    text = error.what();
  }
  CHECK(!contains(text, "\n"));
  sandbox.reset_budget();
  CHECK(value_in(sandbox, "local sum = 0 for i = 1, 1000 do sum = sum + i end return sum") ==
        "500500");
  return text;
}

}  // namespace support
