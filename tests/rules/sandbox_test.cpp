// The Lua that a rule gets: fixed order, errors with a line, and no way out of the sandbox.
#include "support/sandbox.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"

using namespace support;

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

TEST_CASE("sandbox: a chunk's result is kept for run, alone on the stack") {
  LuaSandbox sandbox;
  const auto kept = [&](int type) {
    bool as_it_should_be = false;
    sandbox.run([&](lua_State* lua) {
      as_it_should_be = lua_gettop(lua) == 1 && lua_type(lua, 1) == type;
      lua_pushnil(lua);  // gone after the run
    });
    return as_it_should_be;
  };
  CHECK(kept(LUA_TNIL));
  sandbox.load("return {id = 'x'}, 2, 3", "rule.lua");
  CHECK(kept(LUA_TTABLE));
  CHECK(kept(LUA_TTABLE));
  CHECK_THROWS_AS(sandbox.load("error('x')", "rule.lua"), LuaError);
  CHECK_THROWS_AS(sandbox.load("x =", "rule.lua"), LuaError);
  CHECK(kept(LUA_TTABLE));
  sandbox.load("local nothing", "rule.lua");
  CHECK(kept(LUA_TNIL));
}

TEST_CASE("sandbox: run calls the kept function") {
  LuaSandbox sandbox;
  sandbox.load("return function(a, b) return a + b, a * b end", "rule.lua");
  sandbox.run([](lua_State* lua) {
    lua_pushinteger(lua, 6);
    lua_pushinteger(lua, 7);
    lua_call(lua, 2, 2);
    CHECK(lua_tointeger(lua, 1) == 13);
    CHECK(lua_tointeger(lua, 2) == 42);
  });
}

TEST_CASE("sandbox: an error in run ends the run, and the sandbox remains usable") {
  LuaSandbox sandbox;
  sandbox.load("return function() error('deep') end", "rule.lua");
  destroyed = 0;
  const auto run = [&](auto what) {
    sandbox.run([&](lua_State* lua) {
      Witness witness{destroyed};
      what(lua);
    });
  };
  // Lua errors, from functions that it calls and from its own functions.
  CHECK_THROWS_WITH_AS(run([](lua_State* lua) { lua_call(lua, 0, 0); }), "rule.lua:1: deep",
                       LuaError);
  CHECK_THROWS_WITH_AS(run([](lua_State* lua) { luaL_error(lua, "raised"); }), "rule.lua: raised",
                       LuaError);
  CHECK_THROWS_WITH_AS(run([](lua_State* lua) { luaL_checkstack(lua, 10'000'000, nullptr); }),
                       "rule.lua: stack overflow", LuaError);
  // Exceptions come out as they are.
  CHECK_THROWS_WITH_AS(run([](lua_State*) { throw gh::Error("ours"); }), "ours", gh::Error);
  CHECK_THROWS_AS(run([](lua_State*) { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK(destroyed == 5);
  CHECK(value_in(sandbox, "return 'usable'") == "usable");
}

TEST_CASE("sandbox: code that one has compiled runs in others, and its errors name its lines") {
  gh::LuaCode code;
  {
    LuaSandbox first;
    code = first.compile("local n = 1\nreturn function()\n  error('no ' .. n)\nend", "a.lua");
    CHECK_NOTHROW(first.compile("error('not run')", "b.lua"));
    CHECK_THROWS_WITH_AS(first.compile("return +", "b.lua"), doctest::Contains("b.lua:1: "),
                         LuaError);
  }
  for (int i = 0; i < 2; ++i) {
    LuaSandbox other;
    other.load(code);
    CHECK_THROWS_WITH_AS(other.run([](lua_State* lua) { lua_call(lua, 0, 0); }), "a.lua:3: no 1",
                         LuaError);
  }
}

TEST_CASE("sandbox: globals live as long as the state and no longer") {
  LuaSandbox sandbox;
  sandbox.load("mark = 1; _G.other = 2", "a.lua");
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

TEST_CASE("sandbox: pairs distinguishes keys that are equal as doubles") {
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

TEST_CASE("sandbox: pairs and next skip keys removed meanwhile, and pairs those added") {
  CHECK(value_of(R"(
    local t, seen = {a = 1, b = 2, c = 3}, {}
    for k in pairs(t) do seen[#seen + 1] = k; t.b = nil; t.d = 4 end
    return table.concat(seen))") == "ac");
  CHECK(value_of("local t, n = {a = 1, b = 2, c = 3}, '' for k in next, t do n = n .. k; t[k] = "
                 "nil end return n .. tostring(next(t))") == "abcnil");
}

TEST_CASE("sandbox: next uses the same order as pairs") {
  CHECK(value_of("local t, n = {5, 6, z = 7, y = 8, [0] = 9}, '' for k, v in next, t do n = n .. k "
                 ".. v end return n") == "091526y8z7");
  CHECK(value_of("return next {}") == "nil");
}

TEST_CASE("sandbox: keys without an order are rejected") {
  CHECK(lua_error("for k in pairs {[true] = 1} do end") ==
        "rule.lua:1: a boolean has no order; only numbers and strings do");
  CHECK(lua_error("\nfor k in pairs {[{}] = 1} do end") ==
        "rule.lua:2: a table has no order; only numbers and strings do");
  CHECK(lua_error("return next {[print or pairs] = 1}") ==
        "rule.lua:1: a function has no order; only numbers and strings do");
  CHECK(contains(lua_error("pairs(nil)"),
                 "rule.lua:1: bad argument #1 to 'pairs' (table expected, got nil)"));
}

TEST_CASE("sandbox: ipairs, select, tonumber and the like are Lua's own") {
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

TEST_CASE("sandbox: the table functions work") {
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
  CHECK(lua_error("\ntable.sort {1, {}, 2}") ==
        "rule.lua:2: a table has no order; only numbers and strings do");
  CHECK(lua_error("table.sort {1, 0/0, 2}") == "rule.lua:1: nan has no order");
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

TEST_CASE("sandbox: string.glob matches as globs do") {
  CHECK(value_of("return string.glob('ampere_sgemm_128x64_tn', '*gemm_*x??_t?')") == "true");
  CHECK(value_of("return ('sgemm'):glob('gemm')") == "false");
  CHECK(value_of("return ('a[b]c'):glob('a[b]*')") == "true");
  CHECK(value_of("return (''):glob('*') and (''):glob('') and not ('x'):glob('')") == "true");
}

TEST_CASE("sandbox: string.split and string.starts_with work") {
  CHECK(value_of("return table.concat(('a::b::::c'):split('::'), '|')") == "a|b||c");
  CHECK(value_of("return #(''):split(',') .. #(','):split(',') .. #('a'):split('abc')") == "121");
  CHECK(value_of("return ('nccl:all'):starts_with('nccl') and not ('nc'):starts_with('nccl') and "
                 "('x'):starts_with('')") == "true");
  CHECK(contains(lua_error("return ('a'):split('')"), "1 to 64 bytes expected"));
}

TEST_CASE("sandbox: string.short cuts the middle of a long text out") {
  CHECK(value_of("return ('aten::mm'):short()") == "aten::mm");
  CHECK(value_of("return #('x'):rep(100):short() .. ' ' .. ('abcdefghijklm'):short(10)") ==
        "60 abcd...klm");
  CHECK(contains(lua_error("return ('a'):short(3)"), "at least 8 expected"));
}

TEST_CASE("sandbox: string.format works, except where it would show an address") {
  CHECK(value_of("return string.format('%5.1f|%-4s|%04d|%x|%q|%d%%|%s|%s', 1.25, 'a', 7, 255, 'x', "
                 "3, nil, true)") == "  1.2|a   |0007|ff|\"x\"|3%|nil|true");
  CHECK(lua_error("\nreturn string.format('%d', 'x')") ==
        "rule.lua:2: bad argument #2 to 'format' (number expected, got string)");
  CHECK(lua_error("return ('%s'):format()") ==
        "rule.lua:1: bad argument #1 to 'format' (no value)");
  CHECK(contains(lua_error("return ('%y'):format(1)"), "invalid conversion '%y' to 'format'"));
  CHECK(contains(lua_error("return ('%'):format(1)"), "invalid conversion '%' to 'format'"));
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

TEST_CASE("sandbox: an error below a pcall still closes variables") {
  CHECK(value_of(R"(
    local closed = 0
    local ok = pcall(function() local x <close> = setmetatable({}, {__close = function() closed = closed + 1 end}); error("x") end)
    return tostring(ok) .. closed)") == "false1");
}

TEST_CASE("sandbox: errors name file and line") {
  CHECK(lua_error("\n\nerror('bad value')") == "rule.lua:3: bad value");
  CHECK(lua_error("local t\nreturn t.x") == "rule.lua:2: attempt to index a nil value (local 't')");
  CHECK(lua_error("return 1 +\n+ 2") == "rule.lua:2: unexpected symbol near '+'");
  CHECK(lua_error("x = = 1", small, "rules/idle/first.lua") ==
        "rules/idle/first.lua:1: unexpected symbol near '='");
  CHECK(lua_error("assert(false)") == "rule.lua:1: assertion failed!");
  CHECK(lua_error("error('no place', 0)") == "rule.lua: no place");
}

TEST_CASE("sandbox: errors that are not texts say what they are") {
  CHECK(lua_error("error()") == "rule.lua: the error is a nil, not a text");
  CHECK(lua_error("error({})") == "rule.lua: the error is a table, not a text");
  CHECK(lua_error("error(true)") == "rule.lua: the error is a boolean, not a text");
  CHECK(lua_error("error(pairs)") == "rule.lua: the error is a function, not a text");
  CHECK(lua_error("error(42)") == "rule.lua: 42");
  CHECK(lua_error("error(1.5)") == "rule.lua: 1.5");
}

TEST_CASE("sandbox: __tostring of an error object is not called") {
  CHECK(lua_error("error(setmetatable({}, {__tostring = function() while true do end end}))") ==
        "rule.lua: the error is a table, not a text");
  CHECK(lua_error("error(setmetatable({}, {__tostring = function() error('inner') end, __name = "
                  "'x\\n\\27[31m'}))") == "rule.lua: the error is a table, not a text");
}

TEST_CASE("sandbox: error texts are one bounded, printable line") {
  const std::string text = lua_error("error('a\\nb\\27[31mc\\0d\\255e' .. ('x'):rep(100000))");
  CHECK(
      text.starts_with("rule.lua:1: a b [31mc d\uFFFDe"
                       "xxx"));
  CHECK(text.size() < 600);
  CHECK(std::none_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' '; }));
  CHECK(lua_error("error('x')", small, "a\n\x1b[1mb.lua") == "a  [1mb.lua:1: x");
  CHECK(LuaError(std::string(1'000'000, 'y')).what() != nullptr);
  CHECK(std::string_view(LuaError(std::string(1'000'000, 'y')).what()).size() == 500);
}

TEST_CASE("sandbox: nothing dangerous is reachable by name") {
  for (const std::string name : {"load",
                                 "loadstring",
                                 "loadfile",
                                 "dofile",
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
        "next pairs pcall rawequal rawget rawlen require select setmetatable "
        "string.byte string.char string.format string.glob string.len string.lower string.rep "
        "string.reverse string.short string.split string.starts_with string.sub string.upper "
        "table.concat table.insert table.pack table.remove table.sort table.unpack "
        "tonumber tostring type xpcall");
}

TEST_CASE("sandbox: require knows the program's libraries and no files") {
  for (const char* other : {"io", "os", "/etc/passwd", "../waits", "waits.lib.lua", ""})
    CHECK(contains(lua_error(fmt::format("require '{}'", other)), "there is no library"));
  CHECK(value_of("return type(require 'waits')") == "function");
}

TEST_CASE("sandbox: methods of strings are the same few functions") {
  CHECK(value_of("return ('x').find") == "nil");
  CHECK(value_of("return ('x').gsub == nil and ('x').dump == nil and ('x').sub == string.sub") ==
        "true");
  CHECK(
      contains(lua_error("return ('x'):find('x')"), "attempt to call a nil value (method 'find')"));
}

TEST_CASE("sandbox: the metatable of strings is out of reach") {
  CHECK(value_of("return getmetatable('')") == "nil");
  CHECK(contains(lua_error("setmetatable('', {})"), "table expected, got string"));
}

TEST_CASE("sandbox: the metatable of a userdata is out of reach") {
  LuaSandbox sandbox(small);
  sandbox.run([](lua_State* lua) {
    lua_newuserdatauv(lua, 1, 0);
    lua_createtable(lua, 0, 0);
    lua_setmetatable(lua, -2);
    lua_setglobal(lua, "thing");
  });
  CHECK(value_in(sandbox, "return getmetatable(thing)") == "nil");
  CHECK(value_in(sandbox, "return tostring(thing)") == "userdata");
}

TEST_CASE("sandbox: __metatable protects a metatable") {
  CHECK(value_of("return getmetatable(setmetatable({}, {__metatable = 'no'}))") == "no");
  CHECK(contains(lua_error("setmetatable(setmetatable({}, {__metatable = 'no'}), {})"),
                 "cannot change a protected metatable"));
}

TEST_CASE("sandbox: compiled chunks are rejected") {
  CHECK(contains(lua_error(std::string_view("\x1bLuaT\0\x19\x93\r\n\x1a\n", 12)),
                 "rule.lua: attempt to load a binary chunk (mode is 't')"));
  LuaSandbox sandbox;  // even a valid one
  std::string compiled;
  const auto append = [](lua_State*, const void* bytes, std::size_t size, void* to) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
    return 0;
  };
  sandbox.run([&](lua_State* lua) {
    REQUIRE(luaL_loadstring(lua, "return 1") == LUA_OK);
    lua_dump(lua, append, &compiled, 1);
  });
  CHECK(contains(lua_error(compiled), "binary chunk"));
}

TEST_CASE("sandbox: a rule cannot print an address") {
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
      lua_error("return tostring(setmetatable({}, {__tostring = function() return {} end}))"),
      "'__tostring' must return a string"));
  for (const auto* format : {"%p", "%20p", "%-20p", "%d%%%p", "%s%p"}) {
    CAPTURE(std::string(format));
    CHECK(lua_error("return string.format('" + std::string(format) + "', {}, {})") ==
          "rule.lua:1: %p is not available: addresses change from run to run");
  }
}

TEST_CASE("sandbox: exceptions of verbs become errors with a line, and clean up") {
  LuaSandbox sandbox(small);
  set_function(sandbox, "failing", gh::lua_verb<failing_verb>);
  set_function(sandbox, "raising", gh::lua_verb<raising_verb>);
  destroyed = 0;
  CHECK_THROWS_WITH_AS(sandbox.load("\nfailing()", "rule.lua"), "rule.lua:2: column 'x' is missing",
                       LuaError);
  CHECK_THROWS_WITH_AS(sandbox.load("\nraising()", "rule.lua"), "rule.lua:2: raised", LuaError);
  CHECK(destroyed == 2);
  CHECK(value_in(sandbox, "local ok, e = pcall(failing) return tostring(ok) .. e") ==
        "falsecolumn 'x'\nis missing");
}

#ifndef GH_CHECKED_LUA  // which ends the program where an exception of C++ passes through
TEST_CASE("sandbox: an exception of a verb made without lua_verb is not lost") {
  LuaSandbox sandbox(small);
  set_function(sandbox, "failing", failing_verb);
  CHECK_THROWS_WITH_AS(sandbox.load("failing()", "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
  sandbox.reset_budget();
  CHECK_THROWS_WITH_AS(sandbox.load("pcall(failing) return 'escaped'", "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
  sandbox.reset_budget();
  CHECK(value_in(sandbox, "return 'usable'") == "usable");

  // Nor does it get the line of an earlier collection.
  LuaSandbox full(roomy);
  set_function(full, "failing", failing_verb);
  CHECK_THROWS_WITH_AS(full.load("local t = {} for i = 1, 40000 do t[i] = {} end for i = 1, 5 do "
                                 "local s = ('x'):rep(150000) .. i end failing()",
                                 "rule.lua"),
                       "rule.lua: a C++ exception left a verb (not made with lua_verb?)", LuaError);
}
#endif
