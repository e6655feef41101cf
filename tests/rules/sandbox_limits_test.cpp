// The sandbox stops rules that would run for ever or use all memory: each attack is a test that
// would hang or crash without the protection.
#include <algorithm>
#include <limits>

#include "support/sandbox.hpp"

using namespace support;

namespace {

int verbs_that_went_on = 0;

int spending_verb(lua_State* lua) {
  gh::lua_spend(lua, luaL_checkinteger(lua, 1));
  ++verbs_that_went_on;
  return 0;
}

}  // namespace

TEST_CASE("sandbox: an endless loop is stopped") {
  CHECK(lua_error("while true do end") == "rule.lua:1: " + endless);
  CHECK(lua_error("repeat until false") == "rule.lua:1: " + endless);
  CHECK(lua_error("\n::again:: goto again") == "rule.lua:2: " + endless);
  CHECK(lua_error("for i = 1, math.huge do end") == "rule.lua:1: " + endless);
  CHECK(lua_error("local function f() return f() end f()") == "rule.lua:1: " + endless);
  CHECK(lua_error("for k in function() return 1 end do end") == "rule.lua:1: " + endless);
}

TEST_CASE("sandbox: the default budget stops an endless loop") {
  CHECK(lua_error("while true do end", {}) ==
        "rule.lua:1: stopped after 50000000 instructions (endless loop?)");
}

TEST_CASE("sandbox: tiny and odd budgets hold") {
  LuaSandbox odd({.instructions = 12'345});
  CHECK_THROWS_WITH_AS(odd.load("n = 0 while true do n = n + 1 end", "rule.lua"),
                       "rule.lua:1: stopped after 12345 instructions (endless loop?)", LuaError);
  odd.reset_budget();
  CHECK(value_in(odd, "return n <= 12345 // 4") == "true");  // four instructions per iteration
  LuaSandbox sandbox({.instructions = 3});
  CHECK_THROWS_WITH_AS(sandbox.load("while true do end", "rule.lua"),
                       "rule.lua: stopped after 3 instructions (endless loop?)",
                       LuaError);  // in the parser
}

TEST_CASE("sandbox: pcall does not catch an exhausted budget") {
  CHECK(contains(lua_error("pcall(function() while true do end end) return 'escaped'"), endless));
  CHECK(contains(lua_error("while true do pcall(function() while true do end end) end"), endless));
  CHECK(contains(lua_error("local function f() pcall(f) while true do end end f()"), endless));
  CHECK(contains(lua_error("local p = pcall return p(p, p, p, function() while true do end end)"),
                 endless));
}

TEST_CASE("sandbox: catching errors in a loop spends the budget") {
  CHECK(contains(lua_error("for i = 1, 5000 do pcall(error) end"),
                 endless));  // few instructions, but each error takes a microsecond or two
  CHECK(contains(lua_error("while true do pcall(pcall) end"), endless));
}

TEST_CASE("sandbox: an endless xpcall handler is stopped") {
  CHECK(contains(lua_error("xpcall(error, function() while true do end end)"), endless));
  // Lua's version would call this one inside the hook, where no hook counts.
  CHECK(contains(
      lua_error("xpcall(function() while true do end end, function() while true do end end)"),
      endless));
  CHECK(contains(
      lua_error("local function h() xpcall(error, h) end xpcall(error, h) while true do end"),
      endless));
}

TEST_CASE("sandbox: __close does not escape the budget") {
  CHECK(contains(lua_error("local x <close> = setmetatable({}, {__close = function() while true do "
                           "end end}) while true do end"),
                 endless));
  CHECK(contains(lua_error(R"(
    local m = {__close = function() while true do end end}
    local function f(n) local x <close> = setmetatable({}, m) if n > 0 then f(n - 1) end while true do end end
    f(100))"),
                 endless));
}

TEST_CASE("sandbox: once a limit is hit, no more instructions of the rule run") {
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

TEST_CASE("sandbox: finalizers are rejected, before and after") {
  CHECK(lua_error("setmetatable({}, {__gc = function() while true do end end})") ==
        "rule.lua:1: a metatable may not have __gc");
  CHECK(lua_error("setmetatable({}, {__gc = false})") ==
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

TEST_CASE("sandbox: instructions in metamethods are counted") {
  CHECK(contains(
      lua_error(
          "local t = setmetatable({}, {__index = function() while true do end end}) return t.x"),
      endless));
  CHECK(contains(lua_error("local t = setmetatable({}, {__eq = function() while true do end end}) "
                           "return t == setmetatable({}, getmetatable(t))"),
                 endless));
  CHECK(contains(
      lua_error(
          "return tostring(setmetatable({}, {__tostring = function() while true do end end}))"),
      endless));
  CHECK(contains(lua_error("return ('%s'):format(setmetatable({}, {__tostring = function() while "
                           "true do end end}))"),
                 endless));
  CHECK(contains(lua_error("table.sort({1, 2, 3}, function() while true do end end)"), endless));
}

TEST_CASE("sandbox: the budget is for all calls together until reset") {
  LuaSandbox sandbox(small);
  sandbox.load("return function() for i = 1, 20000 do end end", "rule.lua");
  const auto call = [&] { sandbox.run([](lua_State* lua) { lua_call(lua, 0, 0); }); };
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

TEST_CASE("sandbox: slow instructions run into the time limit") {
  // Each comparison walks all zeros one by one.
  const std::string slow =
      "local a, b = ('\\0'):rep(20000) .. 'a', ('\\0'):rep(20000) .. 'b' while true do local c = a "
      "< b end";
  CHECK(lua_error(slow, {.cpu_ns = 20'000'000}) ==
        "rule.lua:1: stopped after 20 ms of processor time (endless loop?)");
  CHECK(contains(
      lua_error("pcall(function() " + slow + " end) return 'escaped'", {.cpu_ns = 20'000'000}),
      "of processor time"));
}

TEST_CASE("sandbox: verbs are charged for their work") {
  LuaSandbox sandbox(small);
  set_function(sandbox, "verb", gh::lua_verb<spending_verb>);
  CHECK(value_in(sandbox, "for i = 1, 10 do verb(1000) end return 'ok'") == "ok");
  CHECK(value_in(sandbox, "verb(-1000000) verb(0) return 'ok'") == "ok");
  CHECK_THROWS_WITH_AS(sandbox.load("\nverb(math.maxinteger)\nverb(math.maxinteger)", "rule.lua"),
                       ("rule.lua:2: " + endless).c_str(), LuaError);
}

TEST_CASE("sandbox: memory is bounded") {
  CHECK(lua_error("local t = {} for i = 1, 1e9 do t[i] = i end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(lua_error("local t = {} for i = 1, 1e9 do t[i] = {} end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(lua_error("local t = {}\nfor i = 1, 1e9 do t[i] = ('x'):rep(100) .. i end", roomy) ==
        "rule.lua:2: rule used more than 4 MiB");
  CHECK(lua_error("local f for i = 1, 1e9 do local g = f; f = function() return g end end",
                  roomy) == "rule.lua:1: rule used more than 4 MiB");
  CHECK(lua_error("local t = {} while true do t = {t} end", roomy) ==
        "rule.lua:1: rule used more than 4 MiB");
  CHECK(lua_error("local t = {} for i = 1, 1e6 do t[i] = i end", {.memory_bytes = 100u << 10}) ==
        "rule.lua:1: rule used more than 100 KiB");
}

TEST_CASE("sandbox: the default memory limit stops a rule that grows") {
  CHECK(lua_error("local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end", {}) ==
        "rule.lua:1: rule used more than 64 MiB");
}

TEST_CASE("sandbox: strings are bounded") {
  CHECK(lua_error("local s = 'x' while true do s = s .. s end", {}) ==
        "rule.lua:1: rule created a string of more than 1 MiB");
  CHECK(
      lua_error("local t = {} for i = 1, 3000 do t[i] = ('x'):rep(1000) end return table.concat(t)",
                {}) == "rule.lua:1: rule created a string of more than 1 MiB");
  CHECK(value_of("return #('x'):rep(1 << 20)", {}) == "1048576");
}

TEST_CASE("sandbox: a buffer that outgrows the memory is not an ordinary error") {
  CHECK(lua_error("local s = ('x'):rep(1000) local t = {} for i = 1, 5000 do t[i] = s end return "
                  "table.concat(t)",
                  roomy) == "rule.lua:1: rule used more than 4 MiB");
  CHECK(lua_error("local s = ('x'):rep(1000) local t = {} for i = 1, 5000 do t[i] = s end "
                  "pcall(table.concat, t) return 'escaped'",
                  roomy) == "rule.lua:1: rule used more than 4 MiB");
}

TEST_CASE("sandbox: pcall does not catch exhausted memory") {
  CHECK(contains(
      lua_error(
          "pcall(function() local t = {} for i = 1, 1e9 do t[i] = i end end) return 'escaped'",
          roomy),
      "rule used more than 4 MiB"));
  CHECK(contains(lua_error("xpcall(function() local s = 'x' while true do s = s .. s end end, "
                           "function() end) return 'escaped'",
                           roomy),
                 "rule created a string of more than 1 MiB"));
}

TEST_CASE("sandbox: a rule just below the memory limit is stopped soon") {
  // Each string needs a collection of everything else: without a limit this takes hours within the
  // budget.
  CHECK(contains(lua_error(R"(
    local t, n = {}, 0
    for i = 1, 40000 do t[i] = {} end
    local long = ("x"):rep(100000)
    while true do local s = long .. n; n = n + 1 end)",
                           {.instructions = 1'000'000'000'000, .memory_bytes = 4u << 20}),
                 "rule used more than 4 MiB"));
}

TEST_CASE("sandbox: copies of long strings spend the budget") {
  CHECK(contains(lua_error("local s = ('x'):rep(500000) for i = 1, 1000 do local t = s .. 'y' end"),
                 endless));
  CHECK(
      contains(lua_error("local s = ('x'):rep(500000) for i = 1, 1000 do local t = s:upper() end"),
               endless));
  CHECK(contains(
      lua_error("local s = ('x'):rep(50000) for i = 1, 1000 do local t = s:byte(1, -1) end"),
      endless));
}

namespace {

int text_taking_verb(lua_State* lua) {
  gh::lua_take_text(lua, lua_rawlen(lua, 1));
  return 0;
}

}  // namespace

TEST_CASE("sandbox: a verb that exceeds the budget ends at once") {
  LuaSandbox sandbox(small);
  verbs_that_went_on = 0;
  set_function(sandbox, "verb", gh::lua_verb<spending_verb>);
  CHECK(value_in(sandbox, "verb(1000) return 'ok'") == "ok");
  CHECK_THROWS_WITH_AS(sandbox.load("\npcall(verb, math.maxinteger) return 'escaped'", "rule.lua"),
                       ("rule.lua:2: " + endless).c_str(), LuaError);
  CHECK(verbs_that_went_on == 1);
}

TEST_CASE("sandbox: text passed to C++ is bounded, and pcall does not hide the limit") {
  LuaSandbox sandbox({.text_bytes = 100'000});
  set_function(sandbox, "verb", gh::lua_verb<text_taking_verb>);
  const std::string text = "local text = ('x'):rep(10000) ";
  CHECK(value_in(sandbox, text + "for i = 1, 10 do verb(text) end return 'ok'") == "ok");
  const std::string stopped =
      "rule.lua:1: rule passed more than 97 KiB of text in filters or findings";
  CHECK_THROWS_WITH_AS(sandbox.load(text + "verb(text)", "rule.lua"), stopped.c_str(), LuaError);
  sandbox.reset_budget();
  CHECK_THROWS_WITH_AS(
      sandbox.load(text + "for i = 1, 20 do pcall(verb, text) end return 'escaped'", "rule.lua"),
      stopped.c_str(), LuaError);
  // The same when results are read.
  sandbox.reset_budget();
  CHECK_THROWS_WITH_AS(sandbox.run([](lua_State* lua) { gh::lua_take_text(lua, 100'001); }),
                       "rule.lua: rule passed more than 97 KiB of text in filters or findings",
                       LuaError);
}

TEST_CASE("sandbox: memory that runs out in the engine's own pushes ends the run") {
  LuaSandbox sandbox({.memory_bytes = 1u << 20});
  const auto fill = [](lua_State* lua) {
    for (int i = 0; i < 1'000'000; ++i) {
      lua_createtable(lua, 100, 0);
      luaL_ref(lua, LUA_REGISTRYINDEX);
    }
  };
  CHECK_THROWS_WITH_AS(sandbox.run(fill), "lua: rule used more than 1 MiB", LuaError);
}

TEST_CASE("sandbox: metamethods of a result are bounded too") {
  LuaSandbox sandbox(small);
  sandbox.load("return setmetatable({}, {__index = function() while true do end end})", "rule.lua");
  CHECK_THROWS_WITH_AS(sandbox.run([](lua_State* lua) { lua_getfield(lua, 1, "message"); }),
                       ("rule.lua:1: " + endless).c_str(), LuaError);
}

TEST_CASE("sandbox: too little memory for a state at all is an error") {
  for (std::size_t bytes = 0; bytes < 24'000; bytes += 500) {
    try {
      LuaSandbox sandbox({.memory_bytes = bytes});
    } catch (const LuaError& error) {
      CHECK(contains(error.what(), "lua: "));
    }
  }
  CHECK_THROWS_AS(LuaSandbox({.memory_bytes = 10}), LuaError);
}

TEST_CASE("sandbox: endless recursion is an error") {
  CHECK(lua_error("local function f() return 1 + f() end f()", {}) ==
        "rule.lua:1: rule used more than 64 MiB (endless recursion?)");
  CHECK(
      contains(lua_error("local function f() return 1 + f() end f()", {.memory_bytes = 512u << 20}),
               "rule.lua:1: stack overflow"));
  CHECK(contains(lua_error("local function f() pcall(f) end f() while true do end"), endless));
  CHECK(contains(
      lua_error(
          "local t = setmetatable({}, {__index = function(t, k) return t[k] end}) return t.x"),
      "C stack overflow"));
  CHECK(
      contains(lua_error("local t = setmetatable({}, {__tostring = function(t) return tostring(t) "
                         "end}) return tostring(t)"),
               "C stack overflow"));
  CHECK(
      contains(lua_error("local function f() table.sort({1, 2}, f) end f()"), "C stack overflow"));
  CHECK(contains(lua_error("local t = {} setmetatable(t, {__index = t}) return t.x"),
                 "'__index' chain too long; possible loop"));
}

TEST_CASE("sandbox: deeply nested source is an error") {
  const auto nested = [](const char* open, const char* close) {
    std::string source = "return ";
    for (int i = 0; i < 5000; ++i) source += open;
    source += "1";
    for (int i = 0; i < 5000; ++i) source += close;
    return source;
  };
  CHECK(contains(lua_error(nested("(", ")")), "C stack overflow"));
  CHECK(contains(lua_error(nested("{", "}")), "C stack overflow"));
  CHECK(contains(lua_error(nested("- ", "")), "C stack overflow"));
  CHECK(contains(lua_error(nested("function() return ", " end")), "C stack overflow"));
}

TEST_CASE("sandbox: source that is too long is an error") {
  std::string source = "return 1";
  for (int i = 0; i < 60'000; ++i) source += " and 1";
  CHECK(lua_error(source) == "rule.lua: longer than 128 KiB");
}

TEST_CASE("sandbox: deeply nested data does no harm") {
  CHECK(value_of("local t = {} for i = 1, 100000 do t = {t} end return 'ok'", {}) == "ok");
}

TEST_CASE("sandbox: string.rep with a result that is too long is an error") {
  CHECK(lua_error("return ('x'):rep(1e9)") == "rule.lua:1: resulting string too large");
  CHECK(lua_error("return ('x'):rep(math.maxinteger, 'y')") ==
        "rule.lua:1: resulting string too large");
  CHECK(lua_error("return (''):rep(1e9, 'y')") == "rule.lua:1: resulting string too large");
  CHECK(value_of("return #(''):rep(math.maxinteger)") == "0");
  CHECK(value_of("return #(''):rep(math.maxinteger, '')") == "0");
  CHECK(value_of("return ('x'):rep(0) .. ('x'):rep(-1) .. ('x'):rep(math.mininteger)") == "");
}

TEST_CASE("sandbox: formats that ask for too much are rejected") {
  CHECK(contains(lua_error("return ('%1000d'):format(1)"), "invalid conversion"));
  CHECK(contains(lua_error("return ('%.1000f'):format(1)"), "invalid conversion"));
  CHECK(contains(lua_error("return ('%s'):rep(5000):format()"), "format too long"));
  CHECK(value_of("return #('%99.99f'):format(-1e308)") == "410");
}

TEST_CASE("sandbox: a wrong length does no harm") {
  const std::string huge =
      "local t = setmetatable({}, {__len = function() return math.maxinteger - 1 end}) ";
  CHECK(lua_error(huge + "table.insert(t, 1, 0)") ==
        "rule.lua:1: table functions do not accept a table with __len");
  CHECK(lua_error(huge + "table.remove(t, 1)") ==
        "rule.lua:1: table functions do not accept a table with __len");
  CHECK(lua_error(huge + "table.concat(t)") ==
        "rule.lua:1: table functions do not accept a table with __len");
  CHECK(lua_error("table.sort(setmetatable({}, {__len = function() return (1 << 31) - 2 end}), "
                  "math.type)") == "rule.lua:1: table functions do not accept a table with __len");
  CHECK(lua_error(huge + "return table.unpack(t)") ==
        "rule.lua:1: table functions do not accept a table with __len");
  CHECK(lua_error("return table.unpack(setmetatable({}, {__index = next}), 1, 200000)") ==
        "rule.lua:1: table functions do not accept a table with __index");
  CHECK(lua_error("return table.concat(setmetatable({}, {__index = type}), '', 1, 1e15)") ==
        "rule.lua:1: table functions do not accept a table with __index");
  CHECK(lua_error("table.insert(setmetatable({}, {__newindex = rawlen}), 1, 1)") ==
        "rule.lua:1: table functions do not accept a table with __newindex");
}

TEST_CASE("sandbox: a sparse table with a border at 2^62 does no harm") {
  const std::string sparse = "local t = {} for i = 62, 0, -1 do t[1 << i] = 'x' end ";
  CHECK(lua_error(sparse + "table.insert(t, 1, 'x')") == "rule.lua:1: table too large");
  CHECK(lua_error(sparse + "table.remove(t, 1)") == "rule.lua:1: table too large");
  CHECK(lua_error(sparse + "table.sort(t)") == "rule.lua:1: table too large");
}

TEST_CASE("sandbox: huge ranges are rejected") {
  CHECK(contains(lua_error("return table.unpack({}, 1, 1e7)"), "too many results to unpack"));
  CHECK(contains(lua_error("return table.unpack({}, math.mininteger, math.maxinteger)"),
                 "too many results to unpack"));
  CHECK(contains(lua_error("return table.concat({}, '', 1, math.maxinteger)"),
                 "invalid value (nil) at index 1 in table for 'concat'"));
  CHECK(contains(lua_error("return table.concat({}, '', math.mininteger)"),
                 "invalid value (nil) at index -9223372036854775808"));
}

TEST_CASE("sandbox: work on long tables spends the budget") {
  const std::string table = "local t = {} for i = 1, 10000 do t[i] = '' end ";
  CHECK(contains(lua_error(table + "for i = 1, 25 do table.insert(t, 1, 0) end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do table.remove(t, 1) end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do table.concat(t) end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do table.sort(t) end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do table.sort(t, rawequal) end"), endless));
  CHECK(
      contains(lua_error(table + "for i = 1, 25 do for k in pairs(t) do break end end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do next(t) end"), endless));
  CHECK(contains(lua_error(table + "for i = 1, 25 do select('#', table.unpack(t)) end"), endless));
  CHECK(value_of(table + "for i = 1, 5000 do table.insert(t, i) end for i = 1, 5000 do "
                         "table.remove(t) end return #t") ==
        "10000");  // operations at the end are cheap
}

TEST_CASE("sandbox: comparisons that contradict themselves do not hang a sort") {
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
  CHECK(contains(lua_error(fill + "table.sort(t, function(a, b) error('stop') end)"),
                 "rule.lua:1: stop"));
  CHECK(contains(lua_error("table.sort({1, 2}, 3)"), "function expected, got number"));
}

TEST_CASE("sandbox: a comparison that empties the table does no harm") {
  CHECK(value_of("local t = {3, 1, 2} table.sort(t, function(a, b) for i = 1, 3 do t[i] = nil end "
                 "return a < b end) return table.concat(t)") == "123");
}

TEST_CASE("sandbox: globs that backtrack spend the budget") {
  // sqlite3_strglob takes ages for this one; quadratic time is fine.
  CHECK(value_of("return ('a'):rep(100000):glob(('*a'):rep(20) .. 'b')", {}) == "false");
  CHECK(contains(lua_error("return ('a'):glob(('*'):rep(1000))"), "pattern too long"));
  CHECK(contains(
      lua_error(
          "local s, p = ('a'):rep(100000), ('*a'):rep(20) .. 'b' for i = 1, 100 do s:glob(p) end"),
      endless));
}

TEST_CASE("sandbox: split of a long text spends the budget") {
  CHECK(contains(lua_error("local s = ('x'):rep(100000) for i = 1, 100 do s:split(',') end"),
                 endless));
  CHECK(contains(lua_error("return ('a'):split(('x'):rep(65))"), "1 to 64 bytes expected"));
}
