// The calls in which the host waits, what for, and what the steps take without them.
#include "analysis/detect/waits.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "read/nsys.hpp"
#include "rules/binding/rows_in_steps.hpp"
#include "rules/host_waits.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

// Six steps of 1 ms: a kernel of 400 us, what `ops` and `calls` say, and a kernel of 200 us.
Analysis steps_with(const std::string& ops, const std::string& calls, const std::string& more = "",
                    const std::string& ranges = "") {
  return Analysis(
      trace_from_text(fmt::format(
          "return {{ repeats = {{ times = 6, every = 1000 }}, ranges = {{ {{ 0, 990, 'step {{n}}' "
          "}}{} }}, ops = {{ {{ 20, 420, kernel = 'first', launched = {{ 5, 10 }} }}, {} {{ 720, "
          "920, kernel = 'last', launched = {{ 700, 705 }} }} }}, calls = {{ {} }}{} }}",
          ranges, ops, calls, more)),
      Classes(), {});
}

// "result result+1": what each wait of the second step is for; of calls that are part of the wait
// before, how many calls came between the first and them.
std::string waits_of(const Analysis& a) {
  const RowsInSteps rows(a);
  std::string said;
  const Step& step = a.devices.front().steps.at(1);
  for (const Wait& wait : rows.waits()) {
    const Ns at = a.trace.calls.start[wait.call];
    if (at < step.host_start || at >= step.host_start + 990'000) continue;
    said += (said.empty() ? "" : " ") + std::string(name_of(wait.what));
    if (wait.first != wait.call) said += "+";
  }
  return said;
}

const std::string flag =
    "{ 430, 432, copy = 'd2h', bytes = 4, to = 'pageable', launched = { 30, 440 } },";
const std::string synchronize = "{ 450, 455, 'cudaStreamSynchronize' }";

}  // namespace

TEST_CASE("waits: each call waits for one purpose") {
  CHECK(waits_of(steps_with("", "{ 30, 430, 'cudaStreamSynchronize' }")) == "work");
  CHECK(waits_of(steps_with("", "{ 30, 430, 'cudaEventSynchronize' }")) == "work");
  CHECK(waits_of(steps_with("", "{ 30, 430, 'cudaFree' }")) == "memory");
  CHECK(waits_of(steps_with("", "{ 30, 40, 'cudaMalloc' }")).empty());
  CHECK(waits_of(steps_with("", "")).empty());
  // The copy's own call waits, and the call after it has nothing left to wait for.
  CHECK(waits_of(steps_with(flag, synchronize)) == "result result+");
  // Of any size, if the host waits for it.
  CHECK(waits_of(steps_with("{ 430, 600, copy = 'd2h', bytes = 1e7, to = 'pinned', launched = { "
                            "30, 35 } },",
                            "{ 40, 605, 'cudaStreamSynchronize' }")) == "result");
  CHECK(waits_of(steps_with("{ 430, 600, copy = 'd2h', bytes = 1e7, to = 'pageable', launched = { "
                            "30, 605 } },",
                            "")) == "pageable");
  CHECK(waits_of(steps_with("{ 430, 600, copy = 'h2d', bytes = 1e7, from = 'pageable', launched = "
                            "{ 30, 605 } },",
                            "")) == "pageable");
  CHECK(waits_of(steps_with("{ 430, 440, copy = 'h2d', bytes = 65536, from = 'pinned', launched = "
                            "{ 30, 35 } },",
                            "{ 40, 445, 'cudaStreamSynchronize' }")) == "upload");
  CHECK(waits_of(steps_with(flag, synchronize, "", ", { 25, 600, 'save_checkpoint' }")) ==
        "checkpoint checkpoint+");
}

TEST_CASE("waits: little that goes to the GPU from pageable memory the driver takes along") {
  const auto upload = [](int bytes) {
    return steps_with(fmt::format("{{ 430, 440, copy = 'h2d', bytes = {}, from = 'pageable', "
                                  "launched = {{ 30, 442 }} }},",
                                  bytes),
                      "");
  };
  CHECK(waits_of(upload(65536)).empty());
  CHECK(waits_of(upload(65537)) == "pageable");
}

TEST_CASE("waits: a result that tells how much was selected decides") {
  const std::string select =
      "{ 421, 425, kernel = 'void cub::DeviceSelectSweepKernel', launched = { 15, 20 } },";
  CHECK(waits_of(steps_with(select + flag, "")) == "decision");
  // As the operator says it.
  CHECK(waits_of(steps_with(flag, "", "", ", { 25, 445, 'aten::nonzero' }")) == "decision");
  CHECK(waits_of(steps_with(flag, "", "", ", { 25, 445, 'aten::item' }")) == "result");
  // What is read right after it is part of that wait.
  const std::string another =
      "{ 470, 472, copy = 'd2h', bytes = 4, to = 'pageable', launched = { 465, 480 } },";
  CHECK(waits_of(steps_with(select + flag + another, "")) == "decision decision+");
  const std::string kernel = "{ 460, 462, kernel = 'k', launched = { 455, 458 } },";
  CHECK(waits_of(steps_with(select + flag + kernel + another, "")) == "decision result");
}

TEST_CASE("waits: who touches pages that kernels wrote has waited for a result") {
  const auto touched = [](int at, int bytes, const char* cause = "fault") {
    return waits_of(
        steps_with(fmt::format("{{ {}, {}, copy = 'um_d2h', bytes = {}, cause = '{}' }},", at,
                               at + 100, bytes, cause),
                   "{ 30, 430, 'cudaDeviceSynchronize' }"));
  };
  CHECK(touched(450, 4096) == "managed");
  CHECK(touched(450, 65536) == "managed");
  CHECK(touched(450, 65537) == "migration");
  // Prefetched, they arrive while it waits.
  CHECK(touched(425, 1 << 20, "prefetch") == "managed");
  // Before the wait, after the next launch, or to make room.
  CHECK(touched(20, 4096) == "work");
  CHECK(touched(725, 4096) == "work");
  CHECK(touched(450, 4096, "eviction") == "work");
}

TEST_CASE("waits: who waits before it moves a tensor away or back waits for that") {
  std::string ops, calls;
  for (int i = 0; i < 4; ++i) {
    const int at = 450 + 50 * i;
    ops +=
        fmt::format("{{ {}, {}, copy = '{}', bytes = {}, launched = {{ {}, {} }} }},", at, at + 20,
                    i < 2 ? "d2h" : "h2d", (3 + (i < 2 ? i : 3 - i)) << 20, at - 10, at - 8);
    calls += fmt::format("{{ {}, {}, 'cudaEventSynchronize' }},", at - 25, at - 15);
  }
  CHECK(waits_of(steps_with(ops, calls)) == "offload offload offload offload");
}

TEST_CASE("waits: a spin on an event is one wait, which ends with the event") {
  std::string calls;
  for (int at = 30; at < 425; at += 5)
    calls += fmt::format("{{ {}, {}, 'cudaEventQuery', result = 600 }},", at, at + 2);
  const Analysis spun = steps_with("", calls + "{ 425, 427, 'cudaEventQuery' }");
  CHECK(waits_of(spun) == "work");
  const Replay replay(spun);
  REQUIRE(replay.reason().empty());
  CHECK(replay.uniform_error() < 0.02);
  CHECK(replay.profiled_step_ns({}) == 1'000'000);
  // A shorter kernel: the spin is shorter, too. The host needs 570 us for the rest.
  change::Scale shorter{{}, {0.5, 0.5, 0.5}, {}, false};
  for (Row op = 0; op < spun.trace.ops.size(); ++op)
    if (spun.trace.names[spun.trace.ops.name[op]] == "first") shorter.ops.push_back(op);
  CHECK(replay.profiled_step_ns({shorter}) == doctest::Approx(800'000).epsilon(0.01));

  const std::vector<HostWait> found = host_waits(spun, RowsInSteps(spun).waits(), &replay);
  REQUIRE(found.size() == 1);
  CHECK(found.front().call == "cudaEventQuery");
  CHECK(found.front().per_step == doctest::Approx(1));
  CHECK(found.front().blocked_ns == 397'000);
  CHECK(found.front().longest.length() == 397'000);
  // An allocator asks for several events in a row, and a watchdog again and again.
  CHECK(waits_of(steps_with("",
                            "{ 30, 32, 'cudaEventQuery', result = 600 }, { 33, 35, "
                            "'cudaEventQuery' }"))
            .empty());
  CHECK(waits_of(steps_with("", calls)).empty());
}

TEST_CASE("waits: what one costs is the replay without it, never the idle time before it ended") {
  // The GPU is idle from 420 to 720 us, while the host works: without the wait it would do that
  // beside the first kernel.
  const Analysis worked = steps_with("", "{ 30, 425, 'cudaStreamSynchronize' }");
  const Replay replay(worked);
  REQUIRE(replay.reason().empty());
  const std::vector<HostWait> found = host_waits(worked, RowsInSteps(worked).waits(), &replay);
  REQUIRE(found.size() == 1);
  CHECK(found.front().blocked_ns == 395'000);
  REQUIRE(found.front().without);
  // The step is as long as the GPU works, or as the host works: 605 us and what a launch costs.
  CHECK(static_cast<double>(found.front().saves_ns) == doctest::Approx(390'000).epsilon(0.02));
  CHECK(found.front().without->step_ns + found.front().saves_ns == replay.step_ns({}));
  CHECK_FALSE(found.front().at_most);
  // Without a replay nothing is said of it.
  CHECK_FALSE(host_waits(worked, RowsInSteps(worked).waits(), nullptr).front().without);
}

TEST_CASE("waits: host work that the GPU cannot outrun is not saved") {
  // A kernel of 100 us, a wait for it, and 900 us of the host's own work.
  const Analysis bound(
      trace_from_text("return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, 'step "
                      "{n}' } }, ops = { { 20, 120, kernel = 'k', launched = { 5, 10 } } }, calls "
                      "= { { 30, 125, 'cudaStreamSynchronize' } } }"),
      Classes(), {});
  const Replay replay(bound);
  const std::vector<HostWait> found = host_waits(bound, RowsInSteps(bound).waits(), &replay);
  REQUIRE(found.size() == 1);
  CHECK(found.front().saves_ns < 105'000);  // the wait of 95 us, and what waking up takes
}

TEST_CASE("waits: on recordings, each with its place and what it costs") {
  const Analysis a(read_nsys(support::fixture("syncs-pageable")), Classes(), {});
  const Replay replay(a);
  const std::vector<HostWait> found = host_waits(a, RowsInSteps(a).waits(), &replay);
  REQUIRE(found.size() >= 2);
  CHECK(found.size() <= 8);
  CHECK(found[0].saves_ns >= found[1].saves_ns);
  CHECK(found[0].call == "cudaStreamSynchronize");
  CHECK(found[0].what == WaitFor::result);
  CHECK(found[0].bytes > 0);
  // Those of the optimizer, in its range.
  const bool in_optimizer = found[0].layer == "optimizer" || found[1].layer == "optimizer";
  CHECK(in_optimizer);
}
