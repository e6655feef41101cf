// The path: every nanosecond of the replayed time belongs to the one thing that it waits for.
#include "whatif/path.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/text.hpp"
#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

using PathKind = PathItem::Kind;

struct Walked {
  Analysis analysis;
  Replay replay;
  explicit Walked(Trace trace) : analysis(std::move(trace), Classes(), {}), replay(analysis) {}
  explicit Walked(const std::string& literal) : Walked(trace_from_text("return " + literal)) {}

  // Of one step.
  double us(PathKind kind, const std::string& name) const {
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

TEST_CASE("path: a GPU-bound step waits for its kernels") {
  const Walked w(std::string(
      R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
  calls = { { 30, 942, "cudaStreamSynchronize" } },
  ops = { { 20, 520, kernel = "my_product", launched = { 10, 15 } }, { 521, 921, kernel = "my_product", launched = { 16, 21 } } } })"));
  CHECK(w.replay.path().total_ns == w.replay.path().periods * 1'000'000);
  CHECK(w.us(PathKind::compute, "other") == doctest::Approx(900));
  CHECK(w.us(PathKind::call, "cudaStreamSynchronize") == doctest::Approx(21));
}

TEST_CASE("path: a host-bound step waits for what the host's ranges say") {
  const Walked w(std::string(
      R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" }, { 50, 850, "thinking 7" } },
  ops = { { 20, 70, kernel = "a", launched = { 10, 15 } }, { 905, 955, kernel = "b", launched = { 895, 900 } } } })"));
  CHECK(w.us(PathKind::host, "thinking #") == doctest::Approx(800));
  CHECK(w.us(PathKind::host, "step #") == doctest::Approx(180).epsilon(0.05));
  CHECK(w.us(PathKind::compute, "other") < 60);
}

TEST_CASE("path: an operation launched long before waits for other work") {
  const Walked w(std::string(
      R"({ ranges = {}, ops = { { 20, 100, kernel = "a", launched = { 5, 10 } }, { 600, 700, kernel = "b", launched = { 11, 15 } } } })"));
  CHECK(w.us(PathKind::dependency, "other") == doctest::Approx(500));
  CHECK(w.us(PathKind::compute, "other") == doctest::Approx(180));
  CHECK(w.us(PathKind::launch_latency, "") == doctest::Approx(10));
}

TEST_CASE("path: where ranks wait for a late one, the path continues there") {
  const auto rank = [](int n, int product_us) {
    const std::string of = ", rank = " + std::to_string(n) + " }, ",
                      done = std::to_string(100 + product_us);
    return "{ 100, " + done + ", kernel = 'product', launched = { 10, 15 }" + of + "{ " +
           std::to_string(102 + product_us) +
           ", 900, kernel = 'ncclDevKernel_AllReduce', launched = { 16, 20 }" + of;
  };
  const std::string both =
      "return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 990, "
      "'step {n}' }, { 0, 990, 'step {n}', rank = 1 } }, calls = { { 30, 905, "
      "'cudaStreamSynchronize' }, { 30, 905, 'cudaStreamSynchronize', rank = 1 } }, ops = { " +
      rank(0, 200) + rank(1, 700) + "} }";
  const Walked w(trace_from_text(both));
  CHECK(w.us(PathKind::communication, "") == doctest::Approx(98));
  CHECK(w.us(PathKind::compute, "other") == doctest::Approx(700));
  for (const PathItem& i : w.replay.path().items)
    if (i.kind == PathKind::compute) CHECK(i.by_device.at(1) == i.ns);

  // Waiting for a rank that is not in the report is part of the communication.
  Trace of_three = trace_from_text(both);
  of_three.groups = {{0, 3}};
  of_three.ops.group.assign(of_three.ops.size(), 0);
  CHECK(Walked(std::move(of_three)).us(PathKind::communication, "other_ranks") >= 98);
}

TEST_CASE("path: a long name is cut between characters") {
  std::string name;
  for (int i = 0; i < 200; ++i) name += "\u00e4";
  const Walked w("{ ranges = { { 0, 900, '" + name +
                 "' } }, ops = { { 20, 100, kernel = 'a', launched = { 5, 10 } }, { 620, 700, "
                 "kernel = 'b', launched = { 605, 615 } } } }");
  bool found = false;
  for (const PathItem& i : w.replay.path().items)
    if (i.kind == PathKind::host && i.ns > 400'000) {
      found = true;
      CHECK(i.name == valid_utf8(i.name));
      CHECK(display_width(i.name) == 120);
    }
  CHECK(found);
}

TEST_CASE("path: on every recording it adds up to the steps, to the nanosecond") {
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& path : support::unmarked_recordings()) all.push_back(path);
  for (const auto& path : support::few_with_sanitizers(all)) {
    CAPTURE(path.filename().string());
    const Walked w(read_nsys(path));
    const Path& p = w.replay.path();
    if (!w.replay.reason().empty()) {
      CHECK(p.items.empty());
      continue;
    }
    CHECK(sum(p) == p.total_ns);
    if (w.replay.runs().size() > 1) {  // the mean of two runs, which have parts of their own
      CHECK(p.parts.empty());
      CHECK(p.periods == 1);
      CHECK(static_cast<double>(p.total_ns) ==
            doctest::Approx(static_cast<double>(w.replay.recorded_ns())).epsilon(0.01));
      continue;
    }
    // The parts that have an owner add up to the items of these kinds.
    Ns owned = 0, parts = 0;
    for (const PathItem& i : p.items)
      if (i.kind == PathKind::compute || i.kind == PathKind::copy ||
          i.kind == PathKind::communication || i.kind == PathKind::call || i.kind == PathKind::host)
        owned += i.ns;
    for (std::size_t i = 0; i < p.parts.size(); ++i) {
      parts += p.parts[i].span.length();
      CHECK((i == 0 || p.parts[i].span.end <= p.parts[i - 1].span.start));
    }
    CHECK(parts <= owned);
    CHECK(parts >= owned - p.total_ns / 50);  // what comes after the last operation has no owner
    for (const PathItem& i : p.items) {
      CHECK(std::accumulate(i.by_device.begin(), i.by_device.end(), Ns{0}) <= i.ns);
      CHECK(std::accumulate(i.by_step.begin(), i.by_step.end(), Ns{0}) == i.ns);
      CHECK(static_cast<Ns>(i.by_step.size()) == p.periods);
    }
    // Devices may differ from their mean.
    CHECK(static_cast<double>(p.total_ns / p.periods) ==
          doctest::Approx(static_cast<double>(w.replay.recorded_ns())).epsilon(0.01));
    CHECK(w.us(PathKind::unrecorded, "") <
          0.02 * static_cast<double>(w.replay.recorded_ns()) / 1e3);
    CHECK(std::is_sorted(p.items.begin(), p.items.end(),
                         [](const PathItem& a, const PathItem& b) { return a.ns > b.ns; }));
  }
}
