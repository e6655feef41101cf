// What makes the program fast must not show in what it says.
#include "program.hpp"

using namespace support;

TEST_CASE("speed: what is said does not depend on the number of threads") {
  for (const char* report :
       {"starved.sqlite", "ddp.sqlite", "um.sqlite", "eager-autogradnvtx.sqlite",
        "good.pt.trace.json", "ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json"}) {
    CAPTURE(report);
    const Ran one = advise(std::string(report) + " --format json --threads 1"),
              many = advise(std::string(report) + " --format json --threads 7");
    CHECK(one.status == 0);
    CHECK_MESSAGE(many.status == 0, many.err);
    CHECK((one.out == many.out));
  }
  CHECK(advise("starved.sqlite --threads 0").status == 2);
}

TEST_CASE("speed: --profile tells where time and memory went, beside what is said otherwise") {
  const Ran plain = advise("starved.sqlite --format json"),
            profiled = advise("starved.sqlite --format json --profile");
  CHECK((plain.out == profiled.out));
  CHECK(plain.err.empty());
  std::vector<std::string> phases;
  for (const std::string& line : lines_of(profiled.err))
    phases.push_back(line.substr(0, line.find(' ', line.find_first_not_of(' '))));
  for (const char* phase : {"read", "  CUPTI_ACTIVITY_KIND_KERNEL", "  sort", "names", "steps",
                            "account", "replay", "rules", "  launch-bound", "render", "all"}) {
    CAPTURE(phase);
    CHECK(std::count(phases.begin(), phases.end(), phase) == 1);
  }
}

TEST_CASE("speed: sums of time that are streamed are those of the sets") {
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
          "    for i, a in ipairs(all) do for j, b in ipairs(all) do\n"
          "      local where = string.format('%d and %d', i, j)\n"
          "      if one then assert(a:overlap_ns(b) == b:overlap_ns(a), 'overlap of ' .. where) "
          "end\n"
          "      if one then assert(a:exposed_ns(b) == a:union_ns() - a:overlap_ns(b), 'exposed of "
          "' .. where) end\n"
          "      if i <= 4 and j <= 4 then assert(a:plus(b):union_ns() == a:union_ns() + "
          "b:union_ns() - a:overlap_ns(b), 'union of ' .. where) end\n"
          "    end end\n"
          "    assert(all[3]:union_ns() + all[8]:union_ns() == trace:fact 'steps.total_ns', 'busy "
          "and idle')\n"
          "    return {}"));
  for (const char* report : {"starved.sqlite", "good.sqlite", "ddp.sqlite", "launchbound.sqlite"}) {
    CAPTURE(report);
    const Ran ran =
        advise(std::string(report) + " --rules '" + (dir / "rules").string() + "' --select sets");
    CHECK(ran.status == 0);
    CHECK(ran.err == "");
  }
}
