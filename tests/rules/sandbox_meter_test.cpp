// No C or C++ function does work for a rule that its budget does not pay for: each charges where it
// is called, whoever calls it. Tested by counting calls, never by the clock.
#include <algorithm>
#include <sstream>
#include <vector>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "rules/binding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/lua_table.hpp"
#include "rules/sandbox/meter.hpp"
#include "support/sandbox.hpp"

using namespace support;

namespace {

constexpr int budget = 2000, most_calls = 3 * budget;
const std::string stopped = "stopped after 2000 instructions";

int calls = 0;

// Calls its first argument with the others repeatedly, as pcall does but without Lua instructions
// in between: this is how a sort calls its comparison, and Lua a metamethod.
int call_for_ever(lua_State* lua) {
  gh::sandbox::Meter& meter = gh::sandbox::Meter::of(lua);
  const int arguments = lua_gettop(lua);
  for (calls = 0; calls < most_calls; ++calls) {
    for (int i = 1; i <= arguments; ++i) lua_pushvalue(lua, i);
    const int status = lua_pcall(lua, arguments - 1, 0, 0);
    if (status != LUA_OK && meter.is_final(status)) meter.raise();
    lua_settop(lua, arguments);
  }
  return 0;
}

// The result of `call`, which is "function, argument, ...".
std::string endless_calls(LuaSandbox& sandbox, const std::string& call) {
  sandbox.reset_budget();
  try {
    sandbox.load("call_for_ever(" + call + ")", "rule.lua");
  } catch (const LuaError& error) {
    return error.what();
  }
  return "went on";
}

std::vector<std::string> functions_of_sandbox() {
  std::istringstream names(value_of(R"(
    local names = {}
    for name, value in pairs(_G) do
      if type(value) == "function" then names[#names + 1] = name end
      if type(value) == "table" and value ~= _G then
        for inner, f in pairs(value) do
          if type(f) == "function" then names[#names + 1] = name .. "." .. inner end
        end
      end
    end
    return table.concat(names, " "))"));
  return {std::istream_iterator<std::string>(names), {}};
}

}  // namespace

TEST_CASE("sandbox: every function is charged when C code calls it") {
  LuaSandbox sandbox({.instructions = budget});
  set_function(sandbox, "call_for_ever", call_for_ever);
  std::vector<std::string> functions = functions_of_sandbox();
  REQUIRE(functions.size() > 40);
  for (const std::string iterator : {"(ipairs {})", "(pairs {})", "(pairs { 1, 2, a = 3 })"}) {
    functions.push_back(iterator);
  }
  for (const std::string& function : functions) {
    for (const std::string arguments :
         {"", "0", "1, 2", "{}", "{ 1, 2 }", "{ 1, 2 }, 1", "{}, {}", "'a', 'b'", "'a', 1", "'a'",
          "type", "type, type", "'%s', 1", "'#', 1"}) {
      CAPTURE(function);
      CAPTURE(arguments);
      CHECK(contains(endless_calls(sandbox, function + (arguments.empty() ? "" : ", ") + arguments),
                     stopped));
      CHECK(calls < budget);
    }
  }
}

TEST_CASE("sandbox: every verb is charged when C code calls it") {
  const gh::Analysis analysis(
      gh::trace_from_text("return " + std::string(gh::literal_trace_example())), gh::Classes(), {});
  const gh::Facts facts(analysis);
  const gh::RowsInSteps in_steps(analysis);
  const gh::StepTime step(analysis);
  const gh::ApiHost host{analysis, facts, in_steps, step};
  LuaSandbox sandbox({.instructions = budget});
  set_function(sandbox, "call_for_ever", call_for_ever);
  sandbox.run([&](lua_State* lua) {
    gh::push_trace(lua, host);
    lua_setglobal(lua, "trace");
  });
  for (const gh::ApiEntry& entry : gh::api_entries()) {
    const std::string verb = entry.name;
    const bool of_selection = verb.starts_with("selection:");
    if (!of_selection && !verb.starts_with("trace:")) continue;
    const std::string asked = of_selection ? "trace:ops()" : "trace";
    const std::string function = asked + "." + verb.substr(verb.find(':') + 1);
    for (const std::string more : {"", ", 'a'", ", {}", ", trace:ops()", ", 7"}) {
      CAPTURE(verb);
      CAPTURE(more);
      CHECK(contains(endless_calls(sandbox, function + ", " + asked + more), stopped));
      CHECK(calls < budget);
    }
  }
}

TEST_CASE("sandbox: a sort that exceeds the budget stops") {
  for (const std::string sort :
       {"table.sort(t)", "pcall(table.sort, t)", "table.sort(t, string.upper)",
        "table.sort(t, rawequal)", "table.sort(t, function() return true end)",
        "table.sort(t, function(a, b) return a < b end)"}) {
    CAPTURE(sort);
    LuaSandbox sandbox({.instructions = 30'000});
    sandbox.load("a, t = ('x'):rep(10000), {}", "rule.lua");
    for (int times = 0; times < 4; ++times) {
      sandbox.reset_budget();
      sandbox.load("for i = 1, 250 do t[#t + 1] = a t[#t + 1] = 'a' end", "rule.lua");
    }
    sandbox.reset_budget();
    CHECK_THROWS_WITH_AS(sandbox.load(sort, "rule.lua"),
                         "rule.lua:1: stopped after 30000 instructions (endless loop?)", LuaError);
    sandbox.reset_budget();
    CHECK(value_in(sandbox, "return #t[1] .. ' ' .. #t[2] .. ' ' .. #t[1999] .. ' ' .. #t[2000]") ==
          "10000 1 10000 1");
  }
}

TEST_CASE("sandbox: a cyclic chain of __call is rejected") {
  CHECK(lua_error("local t = {} t.__call = t setmetatable(t, t) t()") ==
        "rule.lua:1: '__call' must be a function");
  // Later is too late.
  CHECK(contains(lua_error("local m = {} local t = setmetatable({}, m) m.__call = t t()"),
                 "attempt to call a table value"));
  CHECK(lua_error("setmetatable({}, { __mode = 'k' })") ==
        "rule.lua:1: a metatable may not have __mode");
  CHECK(
      value_of("local m = { __call = function(self, a) return a end, __index = { b = 2 } } local t "
               "= setmetatable({}, m) return t(1) + t.b == 3 and getmetatable(t) == m") == "true");
  CHECK(value_of("return getmetatable(setmetatable(setmetatable({}, {}), nil))") == "nil");
}

TEST_CASE("sandbox: C functions as metamethods are charged too") {
  for (const std::string metamethod :
       {"__index = rawlen", "__newindex = rawequal", "__call = type", "__eq = rawequal",
        "__lt = rawequal", "__concat = select", "__len = next", "__unm = ipairs",
        "__tostring = type", "__close = type", "__name = type"}) {
    CAPTURE(metamethod);
    const std::string use =
        " local a, b = setmetatable({}, m), setmetatable({}, m) while true do for _, f in ipairs {"
        " function() return a.x end, function() a.x = 1 end, function() return a() end, function() "
        "return a == b end, function() return a < b end, function() return a .. b end, function() "
        "return #a end, function() return -a end, function() return tostring(a) end, function() "
        "local c <close> = a end, function() table.sort({ a, b, a }, select) end } do pcall(f) end "
        "end";
    CHECK(contains(lua_error("local m = { " + metamethod + " }" + use), endless));
  }
}

TEST_CASE("sandbox: tables that C++ reads are charged by their keys") {
  LuaSandbox sandbox({.instructions = 100'000});
  sandbox.load("local t = {} for i = 1, 10000 do t[i] = i end t.name = 'a' return t", "rule.lua");
  sandbox.reset_budget();
  int times = 0;
  const auto read = [&](lua_State* lua) {
    for (; times < 1000; ++times) {
      gh::LuaTable(lua, 1, "it").names(gh::LuaTable::Positions::left_out);
    }
  };
  CHECK_THROWS_AS(sandbox.run(read), LuaError);
  CHECK(times < 10);
  sandbox.reset_budget();
  times = 0;
  const auto walk = [&](lua_State* lua) {
    for (; times < 1000; ++times) gh::LuaTable(lua, 1, "it").each([](int) {}, 20'000);
  };
  CHECK_THROWS_AS(sandbox.run(walk), LuaError);
  CHECK(times < 10);
}

TEST_CASE("sandbox: rows of a literal trace are charged by their width") {
  CHECK_THROWS_WITH_AS(
      gh::trace_from_text(
          "local w = { 0, 1, 'x' } for i = 4, 100000 do w[i] = 0 end local calls = {} "
          "for i = 1, 1000 do calls[i] = w end return { calls = calls }"),
      "trace: stopped after 50000000 instructions (endless loop?)", LuaError);
}

TEST_CASE(
    "sandbox: patterns are charged by the length of the names that they are matched against") {
  const gh::Analysis analysis(
      gh::trace_from_text("return { ops = { { 0, 9, kernel = ('a'):rep(10000) } } }"),
      gh::Classes(), {});
  const gh::Facts facts(analysis);
  const gh::RowsInSteps in_steps(analysis);
  const gh::StepTime step(analysis);
  const gh::ApiHost host{analysis, facts, in_steps, step};
  LuaSandbox sandbox(small);
  sandbox.run([&](lua_State* lua) {
    gh::push_trace(lua, host);
    lua_setglobal(lua, "trace");
  });
  const std::string slow = "local slow = '*' .. ('a'):rep(500) .. 'b' ";
  CHECK(value_in(sandbox, slow + "return trace:ops { name = slow }:count()") == "0");
  CHECK_THROWS_WITH_AS(
      sandbox.load(slow + "pcall(trace.ops, trace, { name = { slow, slow, slow } }) escaped = true",
                   "rule.lua"),
      ("rule.lua:1: " + endless).c_str(), LuaError);
  sandbox.reset_budget();
  CHECK(value_in(sandbox, "return escaped") == "nil");
}
