// The replay of several ranks: collectives wait for whichever rank comes last, and not for removed
// ones.
#include <string>

#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

// Six steps of 1 ms on two GPUs: a few kernels of 20 us, a product of 200 us on the first and 700
// us on the other, an all-reduce of 100 us that the first enters 500 us early, and an update after
// it.
std::string rank(int n, const char* product, int product_us) {
  const std::string of = ", rank = " + std::to_string(n) + " }, ";
  std::string ops;
  int at = 100;
  const auto op = [&](const char* kernel, int from, int to, int launched, const char* stream) {
    ops += "{ " + std::to_string(from) + ", " + std::to_string(to) + ", kernel = '" + kernel +
           "', launched = { " + std::to_string(launched) + ", " + std::to_string(launched + 4) +
           " }" + stream + of;
  };
  for (int i = 0; i < 5; ++i, at += 21) op("small", at, at + 20, 8 + 5 * i, "");
  op(product, at, at + product_us, 33, "");
  op("ncclDevKernel_AllReduce", at + product_us + 2, 1007, 38, ", stream = 8");
  op("update", 1009, 1069, 43, "");
  return ops;
}
const std::string straggler =
    "{ repeats = { times = 6, every = 1100 }, ranges = { { 0, 1090, 'step {n}' }, "
    "{ 0, 1090, 'step {n}', rank = 1 } }, calls = { { 50, 1075, 'cudaStreamSynchronize' }, "
    "{ 50, 1075, 'cudaStreamSynchronize', rank = 1 } }, ops = { " +
    rank(0, "product", 200) + rank(1, "late", 700) + "} }";

struct ReplayedRanks {
  Analysis analysis;
  Replay replay;
  explicit ReplayedRanks(Trace trace)
      : analysis(std::move(trace), Classes(), {}), replay(analysis) {}

  std::vector<Row> ops(const std::string& kernel) const {
    std::vector<Row> named;
    const Trace& t = analysis.trace;
    for (Row op = 0; op < t.ops.size(); ++op)
      if (t.names[t.ops.name[op]] == kernel) named.push_back(op);
    return named;
  }
  double us(Change change) const {
    return static_cast<double>(replay.profiled_step_ns({change})) / 1e3;
  }
  double scaled_us(const std::string& kernel, double by) const {
    return us(change::Scale{ops(kernel), {by, by, by}});
  }
};

}  // namespace

TEST_CASE("collectives: a rank that arrives earlier shortens the others' wait") {
  const ReplayedRanks r(trace_from_text("return " + straggler));
  REQUIRE(r.replay.reason() == "");
  CHECK_FALSE(r.replay.collectives());
  CHECK(r.replay.profiled_step_ns({}) == 1'100'000);
  // 490 us less on the rank that the other waits for; no gain from less work on the waiting rank.
  CHECK(std::abs(r.scaled_us("late", 0.3) - 610) < 20);
  CHECK(r.scaled_us("product", 0.1) > 1090);
  // A faster network does not save the wait: half of 100 us.
  CHECK(std::abs(r.scaled_us("ncclDevKernel_AllReduce", 0.5) - 1050) < 10);
  // Without the all-reduce the first finishes 600 us earlier, the other 100: the mean of both.
  CHECK(std::abs(r.us(change::Remove{r.ops("ncclDevKernel_AllReduce")}) - 750) < 30);
}

TEST_CASE("collectives: waits for a rank outside the report stay the same") {
  Trace t = trace_from_text("return " + straggler);
  t.groups = {{0, 3}};
  t.ops.group.assign(t.ops.size(), 0);  // three ranks, two of them in the report
  const ReplayedRanks r(std::move(t));
  CHECK(r.replay.collectives());
  CHECK_FALSE(r.replay.trusted());
  CHECK(r.replay.distrust().starts_with("other ranks are not in the report"));
  CHECK(r.replay.profiled_step_ns({}) == 1'100'000);
}

TEST_CASE(
    "collectives: recordings of two GPUs are replayed as they were, with one set of weights") {
  for (const char* name : {"ddp", "ddp-small-collectives", "two-straggler", "two-reduce-at-end",
                           "two-fsdp-no-prefetch", "two-tensor-parallel", "two-pipeline-2"}) {
    CAPTURE(name);
    const ReplayedRanks r(
        read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite")));
    REQUIRE(r.replay.reason() == "");
    CHECK_FALSE(r.replay.collectives());
    CHECK(r.replay.uniform_error() <= 0.02);
  }
}
