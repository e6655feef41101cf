// Sums of time that verbs stream instead of building sets.
#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;

TEST_CASE("binding: streamed sums of time equal those of sets") {
  const TempDir dir;
  std::filesystem::create_directory(dir / "rules");
  write_file(
      dir / "rules/sets.lua",
      rule_text(
          "sets",
          "    local all = { trace:ops { kind = 'kernel' }, trace:ops { kind = { 'copy', 'set' } "
          "}, trace:ops {}, trace:ops { class = 'no such class' }, trace:calls(), trace:calls { "
          "class = 'sync' }, trace:ranges(), trace:idle(), trace:idle { cause = 'launch' } }\n"
          "    local one = trace:fact 'device.count' == 1\n"
          "    local function same(x, y, what) assert(math.abs(x - y) < 1, what) end\n"
          "    for i, a in ipairs(all) do for j, b in ipairs(all) do\n"
          "      local where = string.format('%d and %d', i, j)\n"
          "      if one then same(a:overlap_ns(b), b:overlap_ns(a), 'overlap of ' .. where) "
          "end\n"
          "      if one then same(a:exposed_ns(b), a:union_ns() - a:overlap_ns(b), 'exposed of "
          "' .. where) end\n"
          "      if i <= 4 and j <= 4 then same(a:plus(b):union_ns(), a:union_ns() + "
          "b:union_ns() - a:overlap_ns(b), 'union of ' .. where) end\n"
          "    end end\n"
          // Of several GPUs, collectives waited for ranks that the profiler slowed: their time is
          // less without it, and a set of operations does not know how much of it they are.
          "    local off = math.abs(all[3]:union_ns() + all[8]:union_ns() - trace:total_ns())\n"
          "    assert(off < (one and 1 or 0.002 * trace:total_ns()), 'busy and idle')\n"
          "    return {}"));
  for (const char* report : {"starved.sqlite", "good.sqlite", "ddp.sqlite", "launchbound.sqlite"}) {
    CAPTURE(report);
    const Ran ran =
        advise(std::string(report) + " --rules " + quoted(dir / "rules") + " --select sets");
    CHECK(ran.status == 0);
    CHECK(ran.err == "");
  }
}
