// The replay of several ranks: collectives wait for whoever comes last, and for nobody who is gone.
#include <string>

#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

// Six steps of 1 ms on two GPUs: a product, of 300 us on the first and 800 on the other, an
// all-reduce of 100 us that the first enters 500 us early, and an update after it.
const std::string straggler = R"({ repeats = { times = 6, every = 1000 },
  ranges = { { 0, 999, "step {n}" }, { 0, 999, "step {n}", rank = 1 } },
  calls = { { 30, 990, "cudaStreamSynchronize" }, { 30, 990, "cudaStreamSynchronize", rank = 1 } },
  ops = { { 20, 320, kernel = "product", launched = { 8, 12 } }, { 322, 922, kernel = "ncclDevKernel_AllReduce", stream = 8, launched = { 13, 17 } },
          { 924, 984, kernel = "update", launched = { 18, 22 } },
          { 20, 820, kernel = "late", launched = { 8, 12 }, rank = 1 }, { 822, 922, kernel = "ncclDevKernel_AllReduce", stream = 8, launched = { 13, 17 }, rank = 1 },
          { 924, 984, kernel = "update", launched = { 18, 22 }, rank = 1 } } })";

struct Replayed {
  Analysis analysis;
  Replay replay;
  explicit Replayed(Trace trace) : analysis(std::move(trace), Classes(), {}), replay(analysis) {}

  double us(Change::Kind kind, const std::string& kernel, double by = 1) const {
    Change c{
        .kind = kind, .rows = {}, .host = {}, .cut_ns = {}, .gap_ns = 0, .factor = {by, by, by}};
    const Trace& t = analysis.trace;
    for (Row op = 0; op < t.ops.size(); ++op)
      if (t.names[t.ops.name[op]] == kernel) c.rows.push_back(op);
    return static_cast<double>(replay.profiled_step_ns({c})) / 1e3;
  }
};

}  // namespace

TEST_CASE("collectives: a rank that comes sooner ends the others' wait") {
  const Replayed r(trace_from_text("return " + straggler));
  REQUIRE(r.replay.reason() == "");
  CHECK_FALSE(r.replay.collectives());
  CHECK(r.replay.profiled_step_ns({}) == 1'000'000);
  // 500 us less on the one for which the other waits; nothing for less on the one that waits.
  CHECK(std::abs(r.us(Change::Kind::scale, "late", 0.375) - 500) < 20);
  CHECK(r.us(Change::Kind::scale, "product", 0.1) > 990);
  // The wait is no part of what a faster network saves: half of 100 us.
  CHECK(std::abs(r.us(Change::Kind::scale, "ncclDevKernel_AllReduce", 0.5) - 950) < 10);
  // Without the all-reduce the first has done 600 us sooner, the other 100: the mean of both.
  CHECK(std::abs(r.us(Change::Kind::remove, "ncclDevKernel_AllReduce") - 650) < 30);
}

TEST_CASE("collectives: with a rank that is not in the report their wait stays as it is") {
  Trace t = trace_from_text("return " + straggler);
  t.groups = {{0, 3}};
  t.ops.group.assign(t.ops.size(), 0);
  const Replayed r(std::move(t));
  CHECK(r.replay.collectives());
  CHECK_FALSE(r.replay.trusted());
  CHECK(r.replay.distrust().starts_with("other ranks are not in the report"));
  CHECK(r.replay.profiled_step_ns({}) == 1'000'000);
}

TEST_CASE(
    "collectives: recordings of two GPUs are replayed as they were, with one set of weights") {
  for (const char* name : {"ddp", "ddp-small-collectives", "two-straggler", "two-reduce-at-end",
                           "two-fsdp-no-prefetch", "two-tensor-parallel", "two-pipeline-2"}) {
    CAPTURE(name);
    const Replayed r(
        read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite")));
    REQUIRE(r.replay.reason() == "");
    CHECK_FALSE(r.replay.collectives());
    CHECK(r.replay.uniform_error() <= 0.02);
  }
}
