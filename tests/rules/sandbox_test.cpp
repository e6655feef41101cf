// The Lua sandbox: each attack on it is a test that would hang, crash, leak or give another text
// without the protection.
#include "rules/sandbox.hpp"

#include <doctest/doctest.h>
#include <lua.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using gh::LuaError;
using gh::LuaSandbox;
using gh::SandboxLimits;

namespace {

// Few enough to be fast, also under sanitizers; the protections do not depend on the size.
constexpr SandboxLimits small{.instructions = 200'000, .memory_bytes = 4u << 20};
constexpr SandboxLimits roomy{.instructions = 1'000'000'000,
                              .memory_bytes = 4u << 20};  // for attacks on memory
const std::string endless = "stopped after 200000 instructions (endless loop?)";

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// What `source` returns, which must be a string, a number or a boolean.
std::string value_in(LuaSandbox& sandbox, std::string_view source) {
  sandbox.load(source, "rule.lua");
  lua_State* lua = sandbox.state();
  REQUIRE(lua_gettop(lua) == 1);
  const std::string text = lua_isboolean(lua, -1) ? (lua_toboolean(lua, -1) ? "true" : "false")
                           : lua_isnil(lua, -1)   ? "nil"
                                                  : luaL_checkstring(lua, -1);
  lua_settop(lua, 0);
  return text;
}

std::string value_of(std::string_view source, SandboxLimits limits = small) {
  LuaSandbox sandbox(limits);
  return value_in(sandbox, source);
}

// The text of the error that `source` ends with. Checks that the sandbox is as good as before
// afterwards.
std::string error_of(std::string_view source, SandboxLimits limits = small,
                     std::string_view name = "rule.lua") {
  LuaSandbox sandbox(limits);
  std::string text;
  try {
    sandbox.load(source, name);
    FAIL("no error from: ", std::string(source));
  } catch (const LuaError& error) {
    text = error.what();
  }
  CHECK(lua_gettop(sandbox.state()) == 0);
  CHECK(!contains(text, "\n"));
  sandbox.reset_budget();
  CHECK(value_in(sandbox, "local sum = 0 for i = 1, 1000 do sum = sum + i end return sum") ==
        "500500");
  return text;
}

}  // namespace

// --- what works

TEST_CASE("sandbox: a chunk leaves its one result") {
  LuaSandbox sandbox;
  sandbox.load("return {id = 'x'}, 2, 3", "rule.lua");
  CHECK(lua_gettop(sandbox.state()) == 1);
  CHECK(lua_istable(sandbox.state(), -1));
  lua_pop(sandbox.state(), 1);
  sandbox.load("local nothing", "rule.lua");
  CHECK(lua_gettop(sandbox.state()) == 1);
  CHECK(lua_isnil(sandbox.state(), -1));
}

TEST_CASE("sandbox: call passes arguments and leaves results") {
  LuaSandbox sandbox;
  sandbox.load("return function(a, b) return a + b, a * b end", "rule.lua");
  lua_State* lua = sandbox.state();
  lua_pushinteger(lua, 6);
  lua_pushinteger(lua, 7);
  sandbox.call(2, 2);
  CHECK(lua_gettop(lua) == 2);
  CHECK(lua_tointeger(lua, 1) == 13);
  CHECK(lua_tointeger(lua, 2) == 42);
}

TEST_CASE("sandbox: globals live as long as the state and no longer") {
  LuaSandbox sandbox;
  sandbox.load("mark = 1; _G.other = 2", "a.lua");
  lua_settop(sandbox.state(), 0);
  CHECK(value_in(sandbox, "return mark + other") == "3");
  CHECK(value_of("return mark") == "nil");
}

TEST_CASE("sandbox: pairs visits keys in order") {
  CHECK(value_of(R"(
    local seen = {}
    for k, v in pairs {b = 1, a = 2, [10] = 3, [2] = 4, [2.5] = 5, [-1] = 6, Z = 7, ["a\0b"] = 8, [""] = 9, [math.huge] = 10,
                       [math.maxinteger] = 11, [2^53] = 12} do
      seen[#seen + 1] = v
    end
    return table.concat(seen, " "))") == "6 4 5 3 12 11 10 9 7 2 8 1");
}

TEST_CASE("sandbox: pairs tells apart what a double does not") {
  CHECK(value_of(R"(
    local big, seen = 1 << 53, {}
    for k, v in pairs {[big + 3] = "d", [big + 1] = "b", [big + 2] = "c", [big] = "a"} do seen[#seen + 1] = v end
    return table.concat(seen))") == "abcd");
}

TEST_CASE("sandbox: pairs gives the same order in every state") {
  const auto* source = R"(
    local t, seen = {}, {}
    for i = 200, 1, -1 do t["key" .. i] = true end
    for k in pairs(t) do seen[#seen + 1] = k end
    local sorted = table.pack(table.unpack(seen))
    table.sort(sorted)
    return table.concat(seen, ",") == table.concat(sorted, ","))";
  for (int i = 0; i < 3; ++i) CHECK(value_of(source) == "true");
}

TEST_CASE(
    "sandbox: pairs and next leave out what is removed, and pairs what is added, on the way") {
  CHECK(value_of(R"(
    local t, seen = {a = 1, b = 2, c = 3}, {}
    for k in pairs(t) do seen[#seen + 1] = k; t.b = nil; t.d = 4 end
    return table.concat(seen))") == "ac");
  CHECK(value_of("local t, n = {a = 1, b = 2, c = 3}, '' for k in next, t do n = n .. k; t[k] = "
                 "nil end return n .. tostring(next(t))") == "abcnil");
}

TEST_CASE("sandbox: next goes in the same order as pairs") {
  CHECK(value_of("local t, n = {5, 6, z = 7, y = 8, [0] = 9}, '' for k, v in next, t do n = n .. k "
                 ".. v end return n") == "091526y8z7");
  CHECK(value_of("return next {}") == "nil");
}

TEST_CASE("sandbox: keys without an order are refused") {
  CHECK(error_of("for k in pairs {[true] = 1} do end") ==
        "rule.lua:1: a boolean has no order, only numbers and strings have");
  CHECK(error_of("\nfor k in pairs {[{}] = 1} do end") ==
        "rule.lua:2: a table has no order, only numbers and strings have");
  CHECK(error_of("return next {[print or pairs] = 1}") ==
        "rule.lua:1: a function has no order, only numbers and strings have");
  CHECK(contains(error_of("pairs(nil)"),
                 "rule.lua:1: bad argument #1 to 'pairs' (table expected, got nil)"));
}

TEST_CASE("sandbox: ipairs, select, tonumber and the rest are Lua's") {
  CHECK(
      value_of("local n = 0 for i, v in ipairs {1, 2, 3, nil, 5} do n = n + i * v end return n") ==
      "14");
  CHECK(value_of("return select('#', 1, nil, 3) .. select(2, 'a', 'b', 'c')") == "3b");
  CHECK(value_of("return tonumber('0x10') + tonumber('12', 3) + tonumber('1e1')") == "31.0");
  CHECK(value_of("return type(1) .. type('') .. type({}) .. math.type(1) .. math.type(1.5)") ==
        "numberstringtableintegerfloat");
  CHECK(value_of("local t = setmetatable({}, {__index = {a = 1}}) return t.a .. tostring(rawget(t, "
                 "'a')) .. rawlen {4, 5} .. tostring(rawequal(t, t))") == "1nil2true");
  CHECK(
      value_of("return math.floor(2.7) + math.max(1, 5, 3) + math.abs(-1) + math.tointeger(3.0)") ==
      "11");
  CHECK(value_of("return ('x'):rep(3, '-') .. ('abc'):upper() .. ('abc'):sub(2, 3) .. "
                 "('abc'):reverse() .. ('abc'):len() .. string.char(65, 66)") ==
        "x-x-xABCbccba3AB");
  CHECK(value_of("return select('#', ('abc'):byte(1, -1)) .. ('A'):byte()") == "365");
}

TEST_CASE("sandbox: table functions") {
  CHECK(value_of("local t = {1, 2} table.insert(t, 3) table.insert(t, 1, 0) table.remove(t, 2) "
                 "return table.concat(t, ',') .. table.remove(t) .. #t") == "0,2,332");
  CHECK(value_of("local t = {1, 2, 3} table.remove(t, nil) return #t") == "2");
  CHECK(value_of("local t = table.pack(1, nil, 3) return t.n .. table.unpack({7, 8}, 2)") == "38");
  CHECK(value_of(
            "local t = {'b', 10, 'a', 9.5, 'B', -1} table.sort(t) return table.concat(t, ' ')") ==
        "-1 9.5 10 B a b");
  CHECK(value_of("local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return "
                 "table.concat(t)") == "321");
  CHECK(value_of("local t = {1} table.sort(t) table.sort({}) return #t") == "1");
  CHECK(error_of("\ntable.sort {1, {}, 2}") ==
        "rule.lua:2: a table has no order, only numbers and strings have");
  CHECK(error_of("table.sort {1, 0/0, 2}") == "rule.lua:1: nan has no order");
}

TEST_CASE("sandbox: table.sort is stable") {
  CHECK(value_of(R"(
    local t = {}
    for i = 1, 1000 do t[i] = {key = i * 7 % 10, place = i} end
    table.sort(t, function(a, b) return a.key < b.key end)
    for i = 2, #t do
      if t[i - 1].key > t[i].key or (t[i - 1].key == t[i].key and t[i - 1].place > t[i].place) then return "wrong at " .. i end
    end
    return "stable")") == "stable");
}

TEST_CASE("sandbox: glob") {
  CHECK(value_of("return string.glob('ampere_sgemm_128x64_tn', '*gemm_*x??_t?')") == "true");
  CHECK(value_of("return ('sgemm'):glob('gemm')") == "false");
  CHECK(value_of("return ('a[b]c'):glob('a[b]*')") == "true");
  CHECK(value_of("return (''):glob('*') and (''):glob('') and not ('x'):glob('')") == "true");
}

TEST_CASE("sandbox: split and starts_with") {
  CHECK(value_of("return table.concat(('a::b::::c'):split('::'), '|')") == "a|b||c");
  CHECK(value_of("return #(''):split(',') .. #(','):split(',') .. #('a'):split('abc')") == "121");
  CHECK(value_of("return ('nccl:all'):starts_with('nccl') and not ('nc'):starts_with('nccl') and "
                 "('x'):starts_with('')") == "true");
  CHECK(contains(error_of("return ('a'):split('')"), "1 to 64 bytes expected"));
}

TEST_CASE("sandbox: format") {
  CHECK(value_of("return string.format('%5.1f|%-4s|%04d|%x|%q|%d%%|%s|%s', 1.25, 'a', 7, 255, 'x', "
                 "3, nil, true)") == "  1.2|a   |0007|ff|\"x\"|3%|nil|true");
  CHECK(error_of("\nreturn string.format('%d', 'x')") ==
        "rule.lua:2: bad argument #2 to 'format' (number expected, got string)");
  CHECK(error_of("return ('%s'):format()") == "rule.lua:1: bad argument #1 to 'format' (no value)");
  CHECK(contains(error_of("return ('%y'):format(1)"), "invalid conversion '%y' to 'format'"));
  CHECK(contains(error_of("return ('%'):format(1)"), "invalid conversion '%' to 'format'"));
}

TEST_CASE("sandbox: pcall and xpcall catch errors") {
  CHECK(value_of("local ok, e = pcall(error, {code = 7}) return tostring(ok) .. e.code") ==
        "false7");
  CHECK(value_of("return select('#', pcall(function() return 1, nil, nil end))") == "4");
  CHECK(
      value_of("return table.concat({select(2, pcall(function(...) return ... end, 1, 2, 3))})") ==
      "123");
  CHECK(value_of("return table.concat({select(2, xpcall(function(...) return ... end, error, 1, 2, "
                 "3))})") == "123");
  CHECK(value_of("local ok, e = xpcall(error, function(m) return m .. '!' end, 'm') return "
                 "tostring(ok) .. e") == "falsem!");
  CHECK(value_of("local ok, e, none = xpcall(error, function(m) error('again', 0) end, 'm') return "
                 "tostring(ok) .. e .. tostring(none)") == "falseagainnil");
  CHECK(value_of("local ok, e = pcall(nil) return e") == "attempt to call a nil value");
}

TEST_CASE("sandbox: an error between Lua and a pcall leaves what closes to close") {
  CHECK(value_of(R"(
    local closed = 0
    local ok = pcall(function() local x <close> = setmetatable({}, {__close = function() closed = closed + 1 end}); error("x") end)
    return tostring(ok) .. closed)") == "false1");
}

// --- error texts

TEST_CASE("sandbox: errors name file and line") {
  CHECK(error_of("\n\nerror('bad value')") == "rule.lua:3: bad value");
  CHECK(error_of("local t\nreturn t.x") == "rule.lua:2: attempt to index a nil value (local 't')");
  CHECK(error_of("return 1 +\n+ 2") == "rule.lua:2: unexpected symbol near '+'");
  CHECK(error_of("x = = 1", small, "rules/idle/first.lua") ==
        "rules/idle/first.lua:1: unexpected symbol near '='");
  CHECK(error_of("assert(false)") == "rule.lua:1: assertion failed!");
  CHECK(error_of("error('no place', 0)") == "rule.lua: no place");
}

TEST_CASE("sandbox: the stack below a failed call stays") {
  LuaSandbox sandbox;
  lua_State* lua = sandbox.state();
  lua_pushinteger(lua, 42);
  CHECK_THROWS_AS(sandbox.load("error('x')", "rule.lua"), LuaError);
  CHECK_THROWS_AS(sandbox.load("x =", "rule.lua"), LuaError);
  sandbox.load("return error", "rule.lua");
  lua_pushliteral(lua, "message");
  CHECK_THROWS_WITH_AS(sandbox.call(1, 5), "rule.lua: message", LuaError);
  CHECK(lua_gettop(lua) == 1);
  CHECK(lua_tointeger(lua, 1) == 42);
}

TEST_CASE("sandbox: errors that are no texts") {
  CHECK(error_of("error()") == "rule.lua: the error is a nil, not a text");
  CHECK(error_of("error({})") == "rule.lua: the error is a table, not a text");
  CHECK(error_of("error(true)") == "rule.lua: the error is a boolean, not a text");
  CHECK(error_of("error(pairs)") == "rule.lua: the error is a function, not a text");
  CHECK(error_of("error(42)") == "rule.lua: 42");
  CHECK(error_of("error(1.5)") == "rule.lua: 1.5");
}

TEST_CASE("sandbox: __tostring of an error object is not called") {
  CHECK(error_of("error(setmetatable({}, {__tostring = function() while true do end end}))") ==
        "rule.lua: the error is a table, not a text");
  CHECK(error_of("error(setmetatable({}, {__tostring = function() error('inner') end, __name = "
                 "'x\\n\\27[31m'}))") == "rule.lua: the error is a table, not a text");
}

TEST_CASE("sandbox: error texts are one bounded, printable line") {
  const std::string text = error_of("error('a\\nb\\27[31mc\\0d\\255e' .. ('x'):rep(100000))");
  CHECK(
      text.starts_with("rule.lua:1: a b [31mc d\uFFFDe"
                       "xxx"));
  CHECK(text.size() < 600);
  CHECK(std::none_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' '; }));
  CHECK(error_of("error('x')", small, "a\n\x1b[1mb.lua") == "a  [1mb.lua:1: x");
  CHECK(LuaError(std::string(1'000'000, 'y')).what() != nullptr);
  CHECK(std::string_view(LuaError(std::string(1'000'000, 'y')).what()).size() == 500);
}

// --- what is not there

TEST_CASE("sandbox: nothing dangerous is reachable by name") {
  for (const std::string name : {"load",
                                 "loadstring",
                                 "loadfile",
                                 "dofile",
                                 "require",
                                 "package",
                                 "io",
                                 "os",
                                 "debug",
                                 "coroutine",
                                 "collectgarbage",
                                 "print",
                                 "warn",
                                 "rawset",
                                 "utf8",
                                 "_VERSION",
                                 "string.find",
                                 "string.match",
                                 "string.gmatch",
                                 "string.gsub",
                                 "string.dump",
                                 "string.pack",
                                 "string.unpack",
                                 "string.packsize",
                                 "table.move",
                                 "math.random",
                                 "math.randomseed"}) {
    CAPTURE(name);
    CHECK(value_of("return " + name) == "nil");
  }
}

TEST_CASE("sandbox: the environment is exactly what is documented") {
  CHECK(value_of(R"(
    local names = {}
    for name, value in pairs(_G) do
      if type(value) ~= "table" then names[#names + 1] = name
      elseif value ~= _G then for inner in pairs(value) do names[#names + 1] = name .. "." .. inner end end
    end
    return table.concat(names, " "))") ==
        "assert error getmetatable ipairs "
        "math.abs math.acos math.asin math.atan math.ceil math.cos math.deg math.exp math.floor "
        "math.fmod math.huge math.log math.max math.maxinteger math.min math.mininteger "
        "math.modf math.pi math.rad math.sin math.sqrt math.tan math.tointeger math.type math.ult "
        "next pairs pcall rawequal rawget rawlen select setmetatable "
        "string.byte string.char string.format string.glob string.len string.lower string.rep "
        "string.reverse string.split string.starts_with string.sub string.upper "
        "table.concat table.insert table.pack table.remove table.sort table.unpack "
        "tonumber tostring type xpcall");
}

TEST_CASE("sandbox: methods of strings are the same few functions") {
  CHECK(value_of("return ('x').find") == "nil");
  CHECK(value_of("return ('x').gsub == nil and ('x').dump == nil and ('x').sub == string.sub") ==
        "true");
  CHECK(
      contains(error_of("return ('x'):find('x')"), "attempt to call a nil value (method 'find')"));
}

TEST_CASE("sandbox: the metatable of strings is out of reach") {
  CHECK(value_of("return getmetatable('')") == "nil");
  CHECK(contains(error_of("setmetatable('', {})"), "table expected, got string"));
}

TEST_CASE("sandbox: the metatable of a userdata is out of reach") {
  LuaSandbox sandbox(small);
  lua_State* lua = sandbox.state();
  lua_newuserdatauv(lua, 1, 0);
  lua_createtable(lua, 0, 0);
  lua_setmetatable(lua, -2);
  lua_setglobal(lua, "thing");
  CHECK(value_in(sandbox, "return getmetatable(thing)") == "nil");
  CHECK(value_in(sandbox, "return tostring(thing)") == "userdata");
}

TEST_CASE("sandbox: __metatable protects") {
  CHECK(value_of("return getmetatable(setmetatable({}, {__metatable = 'no'}))") == "no");
  CHECK(contains(error_of("setmetatable(setmetatable({}, {__metatable = 'no'}), {})"),
                 "cannot change a protected metatable"));
}

TEST_CASE("sandbox: compiled chunks are refused") {
  CHECK(contains(error_of(std::string_view("\x1bLuaT\0\x19\x93\r\n\x1a\n", 12)),
                 "rule.lua: attempt to load a binary chunk (mode is 't')"));
  LuaSandbox sandbox;  // a valid one as well
  REQUIRE(luaL_loadstring(sandbox.state(), "return 1") == LUA_OK);
  std::string compiled;
  const auto append = [](lua_State*, const void* bytes, std::size_t size, void* to) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
    return 0;
  };
  lua_dump(sandbox.state(), append, &compiled, 1);
  CHECK(contains(error_of(compiled), "binary chunk"));
}

TEST_CASE("sandbox: no addresses") {
  CHECK(value_of("return tostring({}) .. tostring(pairs) .. tostring(function() end)") ==
        "tablefunctionfunction");
  CHECK(value_of("return ('%s %10s|%-10s|'):format({}, pairs, {})") ==
        "table   function|table     |");
  CHECK(value_of("return tostring(setmetatable({}, {__name = 'name'}))") == "table");
  CHECK(
      value_of("return tostring(setmetatable({}, {__tostring = function() return 'mine' end}))") ==
      "mine");
  CHECK(
      value_of(
          "return ('%s'):format(setmetatable({}, {__tostring = function() return 'mine' end}))") ==
      "mine");
  CHECK(contains(
      error_of("return tostring(setmetatable({}, {__tostring = function() return {} end}))"),
      "'__tostring' must return a string"));
  for (const auto* format : {"%p", "%20p", "%-20p", "%d%%%p", "%s%p"}) {
    CAPTURE(std::string(format));
    CHECK(error_of("return string.format('" + std::string(format) + "', {}, {})") ==
          "rule.lua:1: %p is not available: addresses change from run to run");
  }
}

// --- endless work

TEST_CASE("sandbox: endless loops are stopped") {
  CHECK(error_of("while true do end") == "rule.lua:1: " + endless);
  CHECK(error_of("repeat until false") == "rule.lua:1: " + endless);
  CHECK(error_of("\n::again:: goto again") == "rule.lua:2: " + endless);
  CHECK(error_of("for i = 1, math.huge do end") == "rule.lua:1: " + endless);
  CHECK(error_of("local function f() return f() end f()") == "rule.lua:1: " + endless);
  CHECK(error_of("for k in function() return 1 end do end") == "rule.lua:1: " + endless);
}

TEST_CASE("sandbox: the default budget holds as well") {
  CHECK(error_of("while true do end", {}) ==
        "rule.lua:1: stopped after 50000000 instructions (endless loop?)");
}

TEST_CASE("sandbox: budgets that are tiny or no multiple of anything") {
  LuaSandbox odd({.instructions = 12'345});
  CHECK_THROWS_WITH_AS(odd.load("n = 0 while true do n = n + 1 end", "rule.lua"),
                       "rule.lua:1: stopped after 12345 instructions (endless loop?)", LuaError);
  odd.reset_budget();
  CHECK(value_in(odd, "return n <= 12345 // 4") == "true");  // four instructions a turn
  LuaSandbox sandbox({.instructions = 3});
  CHECK_THROWS_WITH_AS(sandbox.load("while true do end", "rule.lua"),
                       "rule.lua: stopped after 3 instructions (endless loop?)",
                       LuaError);  // in the parser
}

TEST_CASE("sandbox: pcall does not swallow the end of the budget") {
  CHECK(contains(error_of("pcall(function() while true do end end) return 'escaped'"), endless));
  CHECK(contains(error_of("while true do pcall(function() while true do end end) end"), endless));
  CHECK(contains(error_of("local function f() pcall(f) while true do end end f()"), endless));
  CHECK(contains(error_of("local p = pcall return p(p, p, p, function() while true do end end)"),
                 endless));
}

TEST_CASE("sandbox: catching errors in a loop spends the budget") {
  CHECK(contains(error_of("for i = 1, 5000 do pcall(error) end"),
                 endless));  // few instructions, but each error takes a microsecond or two
  CHECK(contains(error_of("while true do pcall(pcall) end"), endless));
}

TEST_CASE("sandbox: an endless xpcall handler is stopped") {
  CHECK(contains(error_of("xpcall(error, function() while true do end end)"), endless));
  // Lua's own would call this one inside the hook, where no hook counts.
  CHECK(contains(
      error_of("xpcall(function() while true do end end, function() while true do end end)"),
      endless));
  CHECK(contains(
      error_of("local function h() xpcall(error, h) end xpcall(error, h) while true do end"),
      endless));
}

TEST_CASE("sandbox: __close does not escape the budget") {
  CHECK(contains(error_of("local x <close> = setmetatable({}, {__close = function() while true do "
                          "end end}) while true do end"),
                 endless));
  CHECK(contains(error_of(R"(
    local m = {__close = function() while true do end end}
    local function f(n) local x <close> = setmetatable({}, m) if n > 0 then f(n - 1) end while true do end end
    f(100))"),
                 endless));
}

TEST_CASE("sandbox: once a limit is hit no instruction of the rule runs") {
  const std::string close =
      "local x <close> = setmetatable({}, {__close = function() escaped = true end}) ";
  for (const std::string attack :
       {"while true do end", "pcall(function() while true do end end) escaped = true",
        "pcall(function() local t = {} for i = 1, 1e9 do t[i] = i end end) escaped = true"}) {
    CAPTURE(attack);
    LuaSandbox sandbox({.instructions = 2'000'000, .memory_bytes = 4u << 20});
    CHECK_THROWS_AS(sandbox.load(close + attack, "rule.lua"), LuaError);
    sandbox.reset_budget();
    CHECK(value_in(sandbox, "return escaped") == "nil");
  }
}

TEST_CASE("sandbox: finalizers are refused, before and after") {
  CHECK(error_of("setmetatable({}, {__gc = function() while true do end end})") ==
        "rule.lua:1: a metatable may not have __gc");
  CHECK(error_of("setmetatable({}, {__gc = false})") ==
        "rule.lua:1: a metatable may not have __gc");
  CHECK(value_of(R"(
    local ran = false
    local m = {}
    for i = 1, 1000 do setmetatable({}, m) end
    m.__gc = function() ran = true end
    for i = 1, 1000 do local garbage = {i} end
    return ran)") == "false");
  LuaSandbox sandbox(small);  // nor do they run when the state closes
  sandbox.load("local m = {} kept = setmetatable({}, m) m.__gc = function() while true do end end",
               "rule.lua");
}

TEST_CASE("sandbox: metamethods are counted") {
  CHECK(contains(
      error_of(
          "local t = setmetatable({}, {__index = function() while true do end end}) return t.x"),
      endless));
  CHECK(contains(error_of("local t = setmetatable({}, {__eq = function() while true do end end}) "
                          "return t == setmetatable({}, getmetatable(t))"),
                 endless));
  CHECK(contains(
      error_of(
          "return tostring(setmetatable({}, {__tostring = function() while true do end end}))"),
      endless));
  CHECK(contains(error_of("return ('%s'):format(setmetatable({}, {__tostring = function() while "
                          "true do end end}))"),
                 endless));
  CHECK(contains(error_of("table.sort({1, 2, 3}, function() while true do end end)"), endless));
}

TEST_CASE("sandbox: the budget is for all calls together until reset") {
  LuaSandbox sandbox(small);
  sandbox.load("return function() for i = 1, 20000 do end end", "rule.lua");
  const auto call = [&] {
    lua_pushvalue(sandbox.state(), 1);
    sandbox.call(0, 0);
  };
  int calls = 0;
  CHECK_THROWS_WITH_AS(for (; calls < 1000; ++calls) call(), ("rule.lua:1: " + endless).c_str(),
                       LuaError);
  CHECK(calls >= 5);
  CHECK(calls <= 10);
  CHECK_THROWS_WITH_AS(call(), ("rule.lua:1: " + endless).c_str(), LuaError);
  sandbox.reset_budget();
  CHECK_NOTHROW(call());
}

TEST_CASE("sandbox: a stopped sandbox can be destroyed with calls left open") {
  for (const auto* source :
       {"while true do end", "local s = {} while true do s[#s + 1] = {} end"}) {
    LuaSandbox sandbox(small);
    CHECK_THROWS_AS(sandbox.load(source, "rule.lua"), LuaError);
    CHECK_THROWS_AS(sandbox.load(source, "rule.lua"), LuaError);
  }
}

TEST_CASE("sandbox: instructions that are slow run into the time limit") {
  // Each comparison walks all zeros, one by one.
  const std::string slow =
      "local a, b = ('\\0'):rep(20000) .. 'a', ('\\0'):rep(20000) .. 'b' while true do local c = a "
      "< b end";
  CHECK(error_of(slow, {.cpu_ns = 20'000'000}) ==
        "rule.lua:1: stopped after 20 ms of processor time (endless loop?)");
  CHECK(contains(
      error_of("pcall(function() " + slow + " end) return 'escaped'", {.cpu_ns = 20'000'000}),
      "of processor time"));
}

TEST_CASE("sandbox: verbs are charged for their work") {
  LuaSandbox sandbox(small);
  lua_pushcfunction(sandbox.state(), [](lua_State* lua) {
    gh::lua_charge(lua, luaL_checkinteger(lua, 1));
    return 0;
  });
  lua_setglobal(sandbox.state(), "verb");
  CHECK(value_in(sandbox, "for i = 1, 10 do verb(1000) end return 'ok'") == "ok");
  CHECK(value_in(sandbox, "verb(-1000000) verb(0) return 'ok'") == "ok");
  CHECK_THROWS_WITH_AS(sandbox.load("\nverb(math.maxinteger)\nverb(math.maxinteger)", "rule.lua"),
                       ("rule.lua:2: " + endless).c_str(), LuaError);
}

// --- memory

TEST_CASE("sandbox: memory is bounded") {
  CHECK(error_of("local t = {} for i = 1, 1e9 do t[i] = i end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(error_of("local t = {} for i = 1, 1e9 do t[i] = {} end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(error_of("local t = {}\nfor i = 1, 1e9 do t[i] = ('x'):rep(100) .. i end", roomy) ==
        "rule.lua:2: rule used more than 4 MiB");
  CHECK(error_of("local f for i = 1, 1e9 do local g = f; f = function() return g end end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(error_of("local t = {} while true do t = {t} end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(error_of("local t = {} for i = 1, 1e6 do t[i] = i end", {.memory_bytes = 100u << 10}) ==
        "rule.lua:1: rule used more than 100 KiB");
}

TEST_CASE("sandbox: the default memory limit") {
  CHECK(error_of("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end", {}) ==
        "rule.lua:1: rule used more than 64 MiB");
}

TEST_CASE("sandbox: strings are bounded") {
  CHECK(error_of("local s = 'x' while true do s = s .. s end", {}) ==
        "rule.lua:1: rule made a string of more than 1 MiB");
  CHECK(
      error_of("local t = {} for i = 1, 3000 do t[i] = ('x'):rep(1000) end return table.concat(t)",
               {}) == "rule.lua:1: rule made a string of more than 1 MiB");
  CHECK(value_of("return #('x'):rep(1 << 20)", {}) == "1048576");
}

TEST_CASE("sandbox: a buffer that outgrows the memory is no ordinary error") {
  CHECK(error_of("local s = ('x'):rep(1000) local t = {} for i = 1, 5000 do t[i] = s end return "
                 "table.concat(t)",
                 roomy) == "rule.lua:1: rule used more than 4 MiB");
  CHECK(error_of("local s = ('x'):rep(1000) local t = {} for i = 1, 5000 do t[i] = s end "
                 "pcall(table.concat, t) return 'escaped'",
                 roomy) == "rule.lua:1: rule used more than 4 MiB");
}

TEST_CASE("sandbox: pcall does not swallow the end of memory") {
  CHECK(contains(
      error_of("pcall(function() local t = {} for i = 1, 1e9 do t[i] = i end end) return 'escaped'",
               roomy),
      "rule used more than 4 MiB"));
  CHECK(contains(error_of("xpcall(function() local s = 'x' while true do s = s .. s end end, "
                          "function() end) return 'escaped'",
                          roomy),
                 "rule made a string of more than 1 MiB"));
}

TEST_CASE("sandbox: life just below the memory limit is short") {
  // Each string needs a collection of everything else: without a bound this takes hours within the
  // budget.
  CHECK(contains(error_of(R"(
    local t, n = {}, 0
    for i = 1, 40000 do t[i] = {} end
    local long = ("x"):rep(100000)
    while true do local s = long .. n; n = n + 1 end)",
                          {.instructions = 1'000'000'000'000, .memory_bytes = 4u << 20}),
                 "rule used more than 4 MiB"));
}

TEST_CASE("sandbox: copying long strings spends the budget") {
  CHECK(contains(error_of("local s = ('x'):rep(500000) for i = 1, 1000 do local t = s .. 'y' end"),
                 endless));
  CHECK(contains(error_of("local s = ('x'):rep(500000) for i = 1, 1000 do local t = s:upper() end"),
                 endless));
  CHECK(contains(
      error_of("local s = ('x'):rep(50000) for i = 1, 1000 do local t = s:byte(1, -1) end"),
      endless));
}

TEST_CASE("sandbox: memory that runs out in the engine's own pushes throws too") {
  LuaSandbox sandbox({.memory_bytes = 1u << 20});
  CHECK_THROWS_WITH_AS(
      for (int i = 0; i < 1'000'000; ++i) {
        lua_createtable(sandbox.state(), 100, 0);
        luaL_ref(sandbox.state(), LUA_REGISTRYINDEX);
      },
      "lua: rule used more than 1 MiB", LuaError);
}

TEST_CASE(
    "sandbox: metamethods of a result are bounded also when the engine reads it outside a call") {
  LuaSandbox sandbox(small);
  sandbox.load("return setmetatable({}, {__index = function() while true do end end})", "rule.lua");
  CHECK_THROWS_WITH_AS(lua_getfield(sandbox.state(), -1, "message"),
                       ("rule.lua:1: " + endless).c_str(), LuaError);
}

TEST_CASE("sandbox: too little memory for a state at all") {
  for (std::size_t bytes = 0; bytes < 24'000; bytes += 500) {
    try {
      LuaSandbox sandbox({.memory_bytes = bytes});
    } catch (const LuaError& error) {
      CHECK(contains(error.what(), "lua: "));
    }
  }
  CHECK_THROWS_AS(LuaSandbox({.memory_bytes = 10}), LuaError);
}

// --- recursion and depth

TEST_CASE("sandbox: endless recursion") {
  CHECK(error_of("local function f() return 1 + f() end f()", {}) ==
        "rule.lua:1: rule used more than 64 MiB (endless recursion?)");
  CHECK(
      contains(error_of("local function f() return 1 + f() end f()", {.memory_bytes = 512u << 20}),
               "rule.lua:1: stack overflow"));
  CHECK(contains(error_of("local function f() pcall(f) end f() while true do end"), endless));
  CHECK(contains(
      error_of("local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x"),
      "C stack overflow"));
  CHECK(contains(error_of("local t = setmetatable({}, {__tostring = function(t) return tostring(t) "
                          "end}) return tostring(t)"),
                 "C stack overflow"));
  CHECK(contains(error_of("local function f() table.sort({1, 2}, f) end f()"), "C stack overflow"));
  CHECK(contains(error_of("local t = {} setmetatable(t, {__index = t}) return t.x"),
                 "'__index' chain too long; possible loop"));
}

TEST_CASE("sandbox: deeply nested source") {
  const auto nested = [](const char* open, const char* close) {
    std::string source = "return ";
    for (int i = 0; i < 5000; ++i) source += open;
    source += "1";
    for (int i = 0; i < 5000; ++i) source += close;
    return source;
  };
  CHECK(contains(error_of(nested("(", ")")), "C stack overflow"));
  CHECK(contains(error_of(nested("{", "}")), "C stack overflow"));
  CHECK(contains(error_of(nested("- ", "")), "C stack overflow"));
  CHECK(contains(error_of(nested("function() return ", " end")), "C stack overflow"));
}

TEST_CASE("sandbox: long source") {
  std::string source = "return 1";
  for (int i = 0; i < 60'000; ++i) source += " and 1";
  CHECK(error_of(source) == "rule.lua: longer than 128 KiB");
}

TEST_CASE("sandbox: deeply nested data is fine") {
  CHECK(value_of("local t = {} for i = 1, 100000 do t = {t} end return 'ok'", {}) == "ok");
}

// --- C functions that no hook interrupts

TEST_CASE("sandbox: string.rep") {
  CHECK(error_of("return ('x'):rep(1e9)") == "rule.lua:1: resulting string too large");
  CHECK(error_of("return ('x'):rep(math.maxinteger, 'y')") ==
        "rule.lua:1: resulting string too large");
  CHECK(error_of("return (''):rep(1e9, 'y')") == "rule.lua:1: resulting string too large");
  CHECK(value_of("return #(''):rep(math.maxinteger)") == "0");
  CHECK(value_of("return #(''):rep(math.maxinteger, '')") == "0");
  CHECK(value_of("return ('x'):rep(0) .. ('x'):rep(-1) .. ('x'):rep(math.mininteger)") == "");
}

TEST_CASE("sandbox: formats that ask for too much") {
  CHECK(contains(error_of("return ('%1000d'):format(1)"), "invalid conversion"));
  CHECK(contains(error_of("return ('%.1000f'):format(1)"), "invalid conversion"));
  CHECK(contains(error_of("return ('%s'):rep(5000):format()"), "format too long"));
  CHECK(value_of("return #('%99.99f'):format(-1e308)") == "410");
}

TEST_CASE("sandbox: lengths that lie") {
  const std::string huge =
      "local t = setmetatable({}, {__len = function() return math.maxinteger - 1 end}) ";
  CHECK(error_of(huge + "table.insert(t, 1, 0)") ==
        "rule.lua:1: table functions take no table with __len");
  CHECK(error_of(huge + "table.remove(t, 1)") ==
        "rule.lua:1: table functions take no table with __len");
  CHECK(error_of(huge + "table.concat(t)") ==
        "rule.lua:1: table functions take no table with __len");
  CHECK(error_of("table.sort(setmetatable({}, {__len = function() return (1 << 31) - 2 end}), "
                 "math.type)") == "rule.lua:1: table functions take no table with __len");
  CHECK(contains(error_of(huge + "return table.unpack(t)"), "too many results to unpack"));
  CHECK(error_of("return table.concat(setmetatable({}, {__index = type}), '', 1, 1e15)") ==
        "rule.lua:1: table functions take no table with __index");
  CHECK(error_of("table.insert(setmetatable({}, {__newindex = rawlen}), 1, 1)") ==
        "rule.lua:1: table functions take no table with __newindex");
}

TEST_CASE("sandbox: a sparse table with a border at 2^62") {
  const std::string sparse = "local t = {} for i = 62, 0, -1 do t[1 << i] = 'x' end ";
  CHECK(error_of(sparse + "table.insert(t, 1, 'x')") == "rule.lua:1: table too large");
  CHECK(error_of(sparse + "table.remove(t, 1)") == "rule.lua:1: table too large");
  CHECK(error_of(sparse + "table.sort(t)") == "rule.lua:1: table too large");
}

TEST_CASE("sandbox: ranges that are huge") {
  CHECK(contains(error_of("return table.unpack({}, 1, 1e7)"), "too many results to unpack"));
  CHECK(contains(error_of("return table.unpack({}, math.mininteger, math.maxinteger)"),
                 "too many results to unpack"));
  CHECK(contains(error_of("return table.concat({}, '', 1, math.maxinteger)"),
                 "invalid value (nil) at index 1 in table for 'concat'"));
  CHECK(contains(error_of("return table.concat({}, '', math.mininteger)"),
                 "invalid value (nil) at index -9223372036854775808"));
}

TEST_CASE("sandbox: work on long tables spends the budget") {
  const std::string table = "local t = {} for i = 1, 10000 do t[i] = '' end ";
  CHECK(contains(error_of(table + "for i = 1, 25 do table.insert(t, 1, 0) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do table.remove(t, 1) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do table.concat(t) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do table.sort(t) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do table.sort(t, rawequal) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do for k in pairs(t) do break end end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do next(t) end"), endless));
  CHECK(contains(error_of(table + "for i = 1, 25 do select('#', table.unpack(t)) end"), endless));
  CHECK(value_of(table + "for i = 1, 5000 do table.insert(t, i) end for i = 1, 5000 do "
                         "table.remove(t) end return #t") == "10000");  // the ends are cheap
}

TEST_CASE("sandbox: comparisons that contradict themselves") {
  const std::string fill = "local t = {} for i = 1, 1000 do t[i] = i % 17 end ";
  for (const auto* less : {"function() return true end", "function() return false end",
                           "function(a, b) return a <= b end", "rawequal", "math.type",
                           "(function() local n = 0 return function() n = (n * 1103515245 + 12345) "
                           "% 2147483648 return n % 3 == 0 end end)()"}) {
    CAPTURE(std::string(less));
    // Whatever the order, nothing is lost.
    CHECK(
        value_of(fill + "table.sort(t, " + less +
                 ") local sum = 0 for i = 1, #t do sum = sum + t[i] end return sum .. ' ' .. #t") ==
        "7993 1000");
  }
  CHECK(contains(error_of(fill + "table.sort(t, function(a, b) error('stop') end)"),
                 "rule.lua:1: stop"));
  CHECK(contains(error_of("table.sort({1, 2}, 3)"), "function expected, got number"));
}

TEST_CASE("sandbox: a comparison that empties the table") {
  CHECK(value_of("local t = {3, 1, 2} table.sort(t, function(a, b) for i = 1, 3 do t[i] = nil end "
                 "return a < b end) return table.concat(t)") == "123");
}

TEST_CASE("sandbox: globs that backtrack") {
  // sqlite3_strglob takes ages for this one; a length times a length does not.
  CHECK(value_of("return ('a'):rep(100000):glob(('*a'):rep(20) .. 'b')", {}) == "false");
  CHECK(contains(error_of("return ('a'):glob(('*'):rep(1000))"), "pattern too long"));
  CHECK(contains(
      error_of(
          "local s, p = ('a'):rep(100000), ('*a'):rep(20) .. 'b' for i = 1, 100 do s:glob(p) end"),
      endless));
}

TEST_CASE("sandbox: split of a long text spends the budget") {
  CHECK(contains(error_of("local s = ('x'):rep(100000) for i = 1, 100 do s:split(',') end"),
                 endless));
  CHECK(contains(error_of("return ('a'):split(('x'):rep(65))"), "1 to 64 bytes expected"));
}

// --- C++ and Lua

namespace {

struct Witness {
  int& destroyed;
  ~Witness() { ++destroyed; }
};

int destroyed = 0;

int failing_verb(lua_State*) {
  Witness witness{destroyed};
  throw std::runtime_error("column 'x'\nis missing");
}

int raising_verb(lua_State* lua) {
  Witness witness{destroyed};
  return luaL_error(lua, "raised");
}

}  // namespace

TEST_CASE("sandbox: exceptions of verbs become errors with a line, and clean up") {
  LuaSandbox sandbox(small);
  lua_register(sandbox.state(), "failing", gh::lua_verb<failing_verb>);
  lua_register(sandbox.state(), "raising", gh::lua_verb<raising_verb>);
  destroyed = 0;
  CHECK_THROWS_WITH_AS(sandbox.load("\nfailing()", "rule.lua"), "rule.lua:2: column 'x' is missing",
                       LuaError);
  CHECK_THROWS_WITH_AS(sandbox.load("\nraising()", "rule.lua"), "rule.lua:2: raised", LuaError);
  CHECK(destroyed == 2);
  CHECK(value_in(sandbox, "local ok, e = pcall(failing) return tostring(ok) .. e") ==
        "falsecolumn 'x'\nis missing");
}

TEST_CASE("sandbox: an exception of a verb made without lua_verb is not lost either") {
  LuaSandbox sandbox(small);
  lua_register(sandbox.state(), "failing", failing_verb);
  CHECK_THROWS_WITH_AS(sandbox.load("failing()", "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
  sandbox.reset_budget();
  CHECK_THROWS_WITH_AS(sandbox.load("pcall(failing) return 'escaped'", "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
  sandbox.reset_budget();
  CHECK(value_in(sandbox, "return 'usable'") == "usable");

  // Nor does it borrow the line of a collection that happened before.
  LuaSandbox full(roomy);
  lua_register(full.state(), "failing", failing_verb);
  CHECK_THROWS_WITH_AS(full.load("local t = {} for i = 1, 40000 do t[i] = {} end for i = 1, 5 do "
                                 "local s = ('x'):rep(150000) .. i end failing()",
                                 "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
}
