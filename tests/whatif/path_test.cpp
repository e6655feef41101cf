// The path: every nanosecond of the replayed time on the one thing that it waits for.
#include "whatif/path.hpp"

#include <algorithm>
#include <string>

#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

using Kind = PathItem::Kind;

struct Walked {
  Analysis analysis;
  Replay replay;
  explicit Walked(Trace trace) : analysis(std::move(trace), Classes(), {}), replay(analysis) {}
  explicit Walked(const std::string& literal) : Walked(trace_from_text("return " + literal)) {}

  // Of one step.
  double us(Kind kind, const std::string& name) const {
    const Path& p = replay.path();
    const auto item = std::find_if(p.items.begin(), p.items.end(), [&](const PathItem& i) {
      return i.kind == kind && i.name == name;
    });
    return item == p.items.end()
               ? 0
               : static_cast<double>(item->ns) / static_cast<double>(p.periods) / 1e3;
  }
};

Ns sum(const Path& p) {
  Ns all = 0;
  for (const PathItem& i : p.items) all += i.ns;
  return all;
}

}  // namespace

TEST_CASE("path: a step that the GPU bounds waits for its kernels") {
  const Walked w(std::string(
      R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
  calls = { { 30, 942, "cudaStreamSynchronize" } },
  ops = { { 20, 520, kernel = "my_product", launched = { 10, 15 } }, { 521, 921, kernel = "my_product", launched = { 16, 21 } } } })"));
  CHECK(w.replay.path().total_ns == w.replay.path().periods * 1'000'000);
  CHECK(w.us(Kind::compute, "other") == doctest::Approx(900));
  CHECK(w.us(Kind::call, "cudaStreamSynchronize") == doctest::Approx(21));
}

TEST_CASE("path: a step that the host bounds waits for what the host's ranges say") {
  const Walked w(std::string(
      R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" }, { 50, 850, "thinking 7" } },
  ops = { { 20, 70, kernel = "a", launched = { 10, 15 } }, { 905, 955, kernel = "b", launched = { 895, 900 } } } })"));
  CHECK(w.us(Kind::host, "thinking #") == doctest::Approx(800));
  CHECK(w.us(Kind::host, "step #") == doctest::Approx(180).epsilon(0.05));
  CHECK(w.us(Kind::compute, "other") < 60);
}

TEST_CASE("path: an operation that was launched long before waits for other work") {
  const Walked w(std::string(
      R"({ ranges = {}, ops = { { 20, 100, kernel = "a", launched = { 5, 10 } }, { 600, 700, kernel = "b", launched = { 11, 15 } } } })"));
  CHECK(w.us(Kind::dependency, "other") == doctest::Approx(500));
  CHECK(w.us(Kind::compute, "other") == doctest::Approx(180));
  CHECK(w.us(Kind::launch_latency, "") == doctest::Approx(10));
}

TEST_CASE("path: on every recording it adds up to the steps, to the nanosecond") {
  for (const auto& path : support::recordings()) {
    CAPTURE(path.filename().string());
    const Walked w(read_nsys(path));
    const Path& p = w.replay.path();
    if (!w.replay.reason().empty()) {
      CHECK(p.items.empty());
      continue;
    }
    CHECK(sum(p) == p.total_ns);
    // Devices may differ from their mean.
    CHECK(static_cast<double>(p.total_ns / p.periods) ==
          doctest::Approx(static_cast<double>(w.replay.recorded_ns())).epsilon(0.01));
    CHECK(w.us(Kind::unrecorded, "") < 0.02 * static_cast<double>(w.replay.recorded_ns()) / 1e3);
    CHECK(std::is_sorted(p.items.begin(), p.items.end(),
                         [](const PathItem& a, const PathItem& b) { return a.ns > b.ns; }));
  }
}
