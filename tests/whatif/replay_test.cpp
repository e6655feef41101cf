// The replay: without changes it equals the trace, and each change has the effect on steps that can
// be computed by hand.
#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "read/nsys.hpp"
#include "rules/finding.hpp"
#include "rules/literal_trace.hpp"
#include "rules/rules.hpp"
#include "support/support.hpp"

using namespace gh;
using namespace gh::change;

namespace {

// Six steps of 1 ms: a product of 500 us and an elementwise kernel of 400 us; the host waits for
// both before it begins the next.
const std::string gpu_bound =
    R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
  calls = { { 30, 942, "cudaStreamSynchronize" } },
  ops = { { 20, 520, kernel = "product", launched = { 10, 15 } }, { 521, 921, kernel = "small", launched = { 16, 21 } } } })";

// Six steps of 1 ms in which the host works for 880 us between two launches, and the GPU for 100
// us.
const std::string host_bound =
    R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" }, { 50, 850, "thinking" } },
  ops = { { 20, 70, kernel = "a", launched = { 10, 15 } }, { 905, 955, kernel = "b", launched = { 895, 900 } } } })";

// GPU-bound steps of given lengths: a single kernel takes all of a step except 100 us.
std::string steps_of_us(const std::vector<int>& lengths) {
  std::string ranges, calls, ops;
  int at = 0, step = 0;
  for (const int length : lengths) {
    const int done = at + length - 80;
    ranges += fmt::format("{{ {}, {}, \"step {}\" }},", at, at + length - 1, step++);
    calls += fmt::format("{{ {}, {}, \"cudaStreamSynchronize\" }},", at + 30, done + 20);
    ops += fmt::format("{{ {}, {}, kernel = \"product\", launched = {{ {}, {} }} }},", at + 20,
                       done, at + 10, at + 15);
    at += length;
  }
  return fmt::format("{{ ranges = {{ {} }}, calls = {{ {} }}, ops = {{ {} }} }}", ranges, calls,
                     ops);
}

struct Replayed {
  Analysis analysis;
  Replay replay;
  explicit Replayed(Trace trace) : analysis(std::move(trace), Classes(), {}), replay(analysis) {}
  explicit Replayed(const std::string& literal) : Replayed(trace_from_text("return " + literal)) {}

  template <class Kind>
  Kind change(const std::string& kernel, double by = 1) const {
    Kind c;
    for (Row op = 0; op < analysis.trace.ops.size(); ++op)
      if (kernel == "*" || analysis.trace.names[analysis.trace.ops.name[op]] == kernel)
        c.ops.push_back(op);
    if constexpr (requires { c.factor; }) c.factor = {by, by, by};
    return c;
  }
  template <class Kind>
  Kind calls(const std::string& name) const {
    Kind c;
    for (Row r = 0; r < analysis.trace.calls.size(); ++r)
      if (analysis.trace.names[analysis.trace.calls.name[r]] == name) c.calls.push_back(r);
    return c;
  }
  double us(const Changes& changes) const {
    return static_cast<double>(replay.profiled_step_ns(changes)) / 1e3;
  }
};

}  // namespace

TEST_CASE(
    "replay: without a change every recording takes as long as it did, and nearly so with one set "
    "of weights for all") {
  for (const auto& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.filename().string());
    const Replayed r(read_nsys(path));
    REQUIRE(r.replay.reason() == "");
    CHECK(std::abs(r.replay.profiled_step_ns({}) - r.replay.recorded_ns()) <=
          r.replay.recorded_ns() / 1000);
    CHECK(r.replay.uniform_error() <= 0.02);
    CHECK(r.replay.unresolved() <= 0.02);
    CHECK(r.replay.trusted() == (r.replay.distrust() == ""));
    // One whose first step differs from the others by so much that no run without it is like all.
    CHECK(r.replay.trusted() == (path.stem() != "um-umtouch-lora"));
    CHECK(r.replay.step_ns({}) <= r.replay.recorded_ns());
  }
  for (const auto& path : support::few_with_sanitizers(support::unmarked_recordings())) {
    CAPTURE(path.filename().string());
    const Replayed r(read_nsys(path));
    if (path.stem() == "unit-size-sweep") {  // a single step
      CHECK(r.replay.reason() == "the beginning of a single batch is unknown");
      continue;
    }
    if (path.stem().string().starts_with("unit-trained-beside-")) {  // two loops on one GPU
      CHECK(support::contains(r.replay.reason(), "while "));
      continue;
    }
    // Only the end of the first step is replayed; that of beat is longer than the others.
    CHECK(r.replay.profiled_step_ns({}) == doctest::Approx(r.replay.recorded_ns()).epsilon(0.01));
    // With one set of weights, the two halves of devicemap no longer wait for each other as they
    // did, nor does the host for the kernels of launch-blocking and the counts of
    // cu-data-dependent-sync; the first of cpuadam's three steps differs from the others, and so do
    // those of a recording that begins with the program.
    static const std::set<std::string> untrusted{"cpuadam", "devicemap", "wait-data-parallel",
                                                 "cu-data-dependent-sync",
                                                 "unit-train-then-generate"};
    INFO(r.replay.distrust());
    CHECK(r.replay.trusted() == !untrusted.contains(path.stem().string()));
  }
}

TEST_CASE("replay: if the first step differs from the others, it counts with the work before it") {
  // The first range bounds the first step, so there are five: one of 1500 us, four of 1000.
  const Replayed r(steps_of_us({1000, 1500, 1000, 1000, 1000, 1000}));
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.steps() == 5);
  CHECK(r.replay.of_steps() == 5);
  CHECK(r.replay.recorded_ns() == 1'100'000);
  CHECK(r.us({}) == 1100);
  CHECK(r.replay.trusted());
  CHECK(r.us({r.change<Scale>("product", 0.5)}) == 600);
  CHECK(r.replay.path().total_ns == 5'500'000);
}

TEST_CASE("replay: where the first step is missed, a shorter run may be like all steps") {
  // Ten steps, three of which are long; without the first, which is short, they are 1667 us long on
  // average instead of 1600. From the second to the eighth it is two in seven, 1571 us.
  const Replayed r(steps_of_us({1000, 1000, 1000, 3000, 1000, 1000, 3000, 1000, 1000, 3000, 1000}));
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.trusted());
  CHECK(r.replay.recorded_ns() == 1'571'429);
}

TEST_CASE("replay: what an earlier step launched, and was long over, did not delay an operation") {
  // An event delays `b` for 200 us on its stream, after 5 ms in which the host does something else.
  // What its thread had launched on the other one ended with the step before.
  const Replayed r(std::string(R"({ repeats = { times = 6, every = 10000 },
    ranges = { { 0, 9999, "step {n}" } },
    ops = { { 5300, 9700, kernel = "b", stream = 13, launched = { 5100, 5105 } },
            { 9720, 9900, kernel = "a", stream = 7, launched = { 9710, 9715 } } },
    calls = { { 5110, 9705, "cudaDeviceSynchronize" } } })"));
  Pause pause;
  pause.host.push_back({0, {0, 60'000'000}, false});
  pause.factor = {0, 0, 0};
  CHECK(r.us({}) == doctest::Approx(10'000).epsilon(0.01));
  CHECK(r.us({pause}) < 5'000);
}

TEST_CASE("replay: a long recording with slow steps is replayed as two weighted runs") {
  std::vector<int> lengths(201, 1000);
  for (const std::size_t slow : {25, 75, 125, 175}) lengths[slow] = 5000;
  const Replayed r(steps_of_us(lengths));
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.runs().size() == 2);
  CHECK(r.replay.steps() == 24);
  CHECK(r.replay.of_steps() == 200);
  CHECK(r.replay.unrepresentative() < 1e-6);
  CHECK(r.replay.recorded_ns() == doctest::Approx(1'080'000).epsilon(1e-6));
  CHECK(r.us({}) == doctest::Approx(1080).epsilon(1e-6));
  CHECK(r.us({r.change<Scale>("product", 0.5)}) == doctest::Approx(590).epsilon(1e-6));
  CHECK(r.replay.bounds({}).compute_ns == doctest::Approx(980'000).epsilon(1e-5));
  const Path& path = r.replay.path();
  CHECK(path.total_ns == doctest::Approx(1'080'000).epsilon(1e-5));
  CHECK(path.items.front().ns == doctest::Approx(980'000).epsilon(1e-5));
  CHECK(path.items.front().by_step.size() == 22);  // only the end of each run's first step counts
  // Rows of both runs are kept, all others are freed.
  Changes changes{r.change<Scale>("product", 0.5)};
  r.replay.trim(changes);
  CHECK(ops_of(changes[0]).size() >= 24);
  CHECK(ops_of(changes[0]).size() <= 28);
  CHECK(r.us(changes) == doctest::Approx(590).epsilon(1e-6));
}

TEST_CASE(
    "replay: with operations that take next to nothing a step falls to the host's own time, on "
    "every recording") {
  for (const auto& path : support::few_with_sanitizers(support::recordings())) {
    CAPTURE(path.filename().string());
    const Replayed r(read_nsys(path));
    if (!r.replay.reason().empty()) continue;
    const Ns recorded = r.replay.recorded_ns(),
             tiny = r.replay.step_ns({r.change<Scale>("*", 0.01)}),
             host = r.replay.bounds({}).host_ns;
    CHECK(tiny >= host - recorded / 100);
    CHECK(tiny <= host + recorded / 20);
  }
  // The same program, whatever its kernels take: without the hand-over to autograd's thread and
  // back, FP32 would stay at 360 ms.
  for (const char* name : {"good", "fp32", "tf32", "eager", "loopopt"}) {
    CAPTURE(name);
    const Replayed r(
        read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite")));
    CHECK(r.replay.step_ns({r.change<Scale>("*", 0.01)}) < 20'000'000);
  }
}

TEST_CASE("replay: a thread waits for another although it resumes a while after it") {
  // The main thread waits for autograd's, then looks at its parameters for 5 ms. Without the pauses
  // of autograd's thread, 84.9 ms while the GPU is idle, the step is that much shorter.
  const std::string step = R"({ repeats = { times = 6, every = 100000 },
    ranges = { { 0, 99999, "step {n}" } }, WAIT
    ops = { { 20, 30, kernel = "a", launched = { 10, 15 } },
            { 50, 60, kernel = "a", launched = { 40, 45 } },
            { 80, 90, kernel = "a", launched = { 70, 75 } },
            { 1010, 1020, kernel = "a", launched = { 1000, 1005 }, thread = "autograd" },
            { 30010, 30020, kernel = "a", launched = { 30000, 30005 }, thread = "autograd" },
            { 60010, 60020, kernel = "a", launched = { 60000, 60005 }, thread = "autograd" },
            { 85010, 85020, kernel = "a", launched = { 85000, 85005 }, thread = "autograd" },
            { 90010, 90020, kernel = "b", launched = { 90000, 90005 } },
            { 90040, 90050, kernel = "b", launched = { 90030, 90035 } } } })";
  const auto with = [&](const std::string& wait) {
    std::string text = step;
    return Replayed(text.replace(text.find("WAIT"), 4, wait));
  };
  const Replayed r = with("os_calls = { { 80, 85010, 'pthread_cond_wait' } },");
  Pause pause;
  const auto& threads = r.analysis.trace.threads;
  for (std::uint16_t thread = 0; thread < threads.size(); ++thread)
    if (threads[thread].name == "autograd") pause.host.push_back({thread, {0, 600'000'000}, false});
  pause.factor = {0, 0, 0};
  CHECK(r.us({}) == doctest::Approx(100'000).epsilon(0.01));
  CHECK(r.us({pause}) == doctest::Approx(15'090).epsilon(0.01));
  // If nothing shows that it waited, it may have worked all the time.
  CHECK(with("").us({pause}) == doctest::Approx(100'000).epsilon(0.01));
}

TEST_CASE("replay: who resumes soon after another thread's last launch, for so long, waited") {
  // The main thread is silent for 300 ms, and resumes 4 ms after autograd's last launch.
  const Replayed r(std::string(R"({ repeats = { times = 6, every = 310000 },
    ranges = { { 0, 309999, "step {n}" } },
    ops = { { 20, 30, kernel = "a", launched = { 10, 15 } },
            { 50, 60, kernel = "a", launched = { 40, 45 } },
            { 80, 90, kernel = "a", launched = { 70, 75 } },
            { 1010, 1020, kernel = "a", launched = { 1000, 1005 }, thread = "autograd" },
            { 90010, 90020, kernel = "a", launched = { 90000, 90005 }, thread = "autograd" },
            { 180010, 180020, kernel = "a", launched = { 180000, 180005 }, thread = "autograd" },
            { 296010, 296020, kernel = "a", launched = { 296000, 296005 }, thread = "autograd" },
            { 300010, 300020, kernel = "b", launched = { 300000, 300005 } },
            { 300040, 300050, kernel = "b", launched = { 300030, 300035 } } } })"));
  Pause pause;
  const auto& threads = r.analysis.trace.threads;
  for (std::uint16_t thread = 0; thread < threads.size(); ++thread)
    if (threads[thread].name == "autograd")
      pause.host.push_back({thread, {0, 2'000'000'000}, false});
  pause.factor = {0, 0, 0};
  CHECK(r.us({pause}) < 16'000);
}

// Six steps of 50 ms: the main thread launches `a` until 1 ms, thinks until 10 ms and makes a
// thread for the step, which launches a product of 30 ms and reads its result. Main goes on when it
// has.
std::string threads_born_each_step(bool recorded) {
  std::string os_calls, calls, ops, ranges;
  for (int step = 0; step < 6; ++step) {
    const int at = 50'000 * step;
    ranges += fmt::format("{{ {}, {}, 'step {}' }},", at, at + 49'999, step);
    if (recorded)
      os_calls += fmt::format("{{ {}, {}, 'pthread_create' }},", at + 10'000, at + 10'050);
    for (int i = 0; i < 3; ++i)
      ops += fmt::format(
          "{{ {0}, {1}, kernel = 'a', launched = {{ {2}, {3} }} }},"
          "{{ {4}, {5}, kernel = 'b', launched = {{ {6}, {7} }} }},",
          at + 100 + 300 * i, at + 200 + 300 * i, at + 90 + 300 * i, at + 95 + 300 * i,
          at + 42'110 + 300 * i, at + 42'210 + 300 * i, at + 42'100 + 300 * i,
          at + 42'105 + 300 * i);
    for (int i = 0; i < 3; ++i)
      ops += fmt::format(
          "{{ {}, {}, kernel = 'product', launched = {{ {}, {} }}, thread = 'worker {}' }},",
          at + 12'020 + 10'000 * i, at + 22'015 + 10'000 * i, at + 12'000 + 20 * i,
          at + 12'010 + 20 * i, step);
    calls += fmt::format("{{ {}, {}, 'cudaStreamSynchronize', thread = 'worker {}' }},",
                         at + 12'100, at + 42'030, step);
  }
  return fmt::format(
      "{{ ranges = {{ {} }}, os_calls = {{ {} }}, calls = {{ {} }}, ops = {{ {} }} }}", ranges,
      os_calls, calls, ops);
}

TEST_CASE("replay: a thread that is born in the window follows the one that made it") {
  for (const bool recorded : {true, false}) {
    CAPTURE(recorded);
    const Replayed r(threads_born_each_step(recorded));
    CHECK(r.us({}) == doctest::Approx(50'000).epsilon(0.01));
    // The first calls of five threads did not wait for the window's begin.
    CHECK(r.us({r.change<Scale>("product", 0.1)}) == doctest::Approx(23'000).epsilon(0.02));
  }
}

TEST_CASE("replay: a large graph does not stand in the way of its own launch") {
  // Six steps of 12 ms: the launch of a graph of 400 kernels takes 4 ms, then it runs for 7.6 ms,
  // and the host waits for it. Without the wait it would launch the next meanwhile.
  std::string ops = "{ 12, 14, copy = 'h2d', bytes = 4, from = 'pinned', launched = { 5, 9 } },";
  for (int i = 0; i < 400; ++i)
    ops += fmt::format("{{ {}, {}, kernel = 'k', in_graph = true, launched = {} }},", 4020 + 19 * i,
                       4039 + 19 * i, i == 0 ? "{ 10, 4010 }" : "false");
  const Replayed r(fmt::format(
      "{{ repeats = {{ times = 6, every = 12000 }}, ranges = {{ {{ 0, 11990, 'step {{n}}' }} }}, "
      "calls = {{ {{ 4030, 11630, 'cudaStreamSynchronize' }} }}, ops = {{ {} }} }}",
      ops));
  CHECK(r.us({}) == doctest::Approx(12'000).epsilon(0.01));
  CHECK(r.us({r.calls<Unblock>("cudaStreamSynchronize")}) == doctest::Approx(7'600).epsilon(0.02));
}

TEST_CASE("replay: what is removed stays removed, whatever else changes") {
  const Replayed r(host_bound);
  const Remove gone = r.change<Remove>("b");
  Pause pause;
  for (const Idle& idle : r.analysis.account.devices[0].idle)
    pause.host.push_back({idle.thread, idle.span, true});
  pause.factor = {0.999, 0.999, 0.999};
  CHECK(r.us({gone, pause}) <= r.us({gone}));
}

TEST_CASE("replay: a window lasts until its end, even if pages move last") {
  const Replayed r(
      "{ ops = { { 20, 520, kernel = 'a', launched = { 10, 15 } }, { 600, 900, kernel = 'b', "
      "launched = { 530, 535 } }, { 1000, 4000, copy = 'um_d2h', bytes = 65536, address = 0, cause "
      "= 'fault' } } }");
  REQUIRE(r.replay.reason() == "");
  CHECK(r.us({}) == doctest::Approx(4000).epsilon(0.01));
  CHECK(r.us({r.change<Scale>("b", 0)}) == doctest::Approx(3700).epsilon(0.01));
  CHECK(r.replay.path().total_ns == doctest::Approx(r.replay.recorded_ns()).epsilon(0.001));
}

TEST_CASE(
    "replay: a call during which the GPU is idle becomes shorter and starts its work earlier") {
  const Replayed r(R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
    ops = { { 20, 120, kernel = "a", launched = { 10, 15 } }, { 620, 720, kernel = "b", launched = { 20, 622 } } } })");
  Pause change;
  for (const Idle& idle : r.analysis.account.devices[0].idle)
    if (idle.cause == IdleCause::loading || idle.span.length() == 500'000)
      change.host.push_back({idle.thread, idle.span, true});
  REQUIRE(change.host.size() >= 5);
  change.factor = {0, 0, 0};
  CHECK(r.us({change}) == 500);
  change.factor = {0.5, 0.5, 0.5};
  CHECK(r.us({change}) == 750);
}

TEST_CASE("replay: removing, scaling, shortening or fusing operations saves what they cost") {
  const Replayed r(gpu_bound);
  CHECK(r.us({}) == 1000);
  CHECK(r.us({r.change<Scale>("product", 0.5)}) == 750);
  CHECK(r.us({r.change<Scale>("product", 0.5), r.change<Scale>("product", 0.8)}) ==
        750);  // the better of two, not both
  CHECK(r.us({r.change<Scale>("small", 2)}) == 1400);
  const double gone = r.us({r.change<Remove>("small")});
  CHECK(gone < 600);
  CHECK(gone >
        590);  // the wait ends earlier by the kernel and its gap; the host no longer launches it
  Shorten shorter = r.change<Shorten>("product");
  shorter.cut_ns.assign(shorter.ops.size(), 200'000);
  CHECK(r.us({shorter}) == 800);
  Fuse fused = r.change<Fuse>("*");
  fused.factor = {1, 0.5, 1.5};
  CHECK(r.us({fused}) < 600);  // both take as long as the longer, 500 us
  CHECK(r.us({fused}) > 590);
  CHECK(r.replay.step_ns({fused}, Guess::least) < r.replay.step_ns({fused}));
  CHECK(r.replay.step_ns({fused}, Guess::most) > r.replay.step_ns({fused}));
}

TEST_CASE("replay: removing waits, pauses and launches of the host saves what they cost") {
  const Replayed waits(gpu_bound);
  const double free = waits.us({waits.calls<Unblock>("cudaStreamSynchronize")});
  CHECK(free < 960);  // the GPU works without a pause: 900 us and the gaps between its kernels
  CHECK(free >= 900);
  CHECK(waits.us({waits.calls<Drop>("cudaStreamSynchronize")}) <= free);

  const Replayed works(host_bound);
  CHECK(works.us({}) == 1000);
  CHECK(works.us({works.change<Scale>("*", 0.1)}) == 1000);  // the step does not wait for the GPU
  Pause pause{{}, {0, 0, 0}};
  const Trace& t = works.analysis.trace;
  for (Row range = 0; range < t.ranges.size(); ++range)
    if (t.names[t.ranges.name[range]] == "thinking")
      pause.host.push_back(
          {t.ranges.thread[range], {t.ranges.start[range], t.ranges.end[range]}, false});
  CHECK(works.us({pause}) == 200);  // 800 us less
  pause.factor.by = 0.5;
  CHECK(works.us({pause}) == 600);
  pause.factor.by = 0;
  for (HostSpan& h : pause.host) h.whole = true;
  CHECK(works.us({pause}) == doctest::Approx(120));  // the whole pause of 880 us goes
  Graph graph = works.change<Graph>("*");
  graph.gap_ns = 1000;
  // The pause between the two kernels is not launch time: graphs leave it and their first launches.
  CHECK(works.us({graph}) == doctest::Approx(1000).epsilon(0.01));
  CHECK(works.us({graph, pause}) == doctest::Approx(120).epsilon(0.05));
}

TEST_CASE("replay: a graph keeps its first launch and ends where the host reads back") {
  const auto steps = [](const std::string& calls, const std::string& fifth = "small") {
    std::string ops;
    for (int k = 0; k < 10; ++k)
      ops += "{ " + std::to_string(95 + 90 * k) + ", " + std::to_string(97 + 90 * k) +
             ", kernel = '" + (k == 5 ? fifth : "small") + "', launched = { " +
             std::to_string(85 + 90 * k) + ", " + std::to_string(92 + 90 * k) + " } }, ";
    return "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, calls = "
           "{ " +
           calls + " }, ops = { " + ops + " } }";
  };
  const auto graphed = [](const Replayed& r) {
    Graph graph = r.change<Graph>("small");
    graph.gap_ns = 1000;
    return r.us({graph});
  };
  // One graph: the host prepares one launch, ten kernels follow, and the host waits for them.
  const Replayed one(steps("{ 915, 990, 'cudaStreamSynchronize' }"));
  CHECK(graphed(one) < 230);
  CHECK(graphed(one) > 120);
  // A read-back in the middle splits it in two, each with its own first launch.
  const Replayed two(
      steps("{ 460, 530, 'cudaStreamSynchronize' }, { 915, 990, 'cudaStreamSynchronize' }"));
  CHECK(graphed(two) > graphed(one) + 50);
  // So does an allocation by the thread, or another launch in between.
  const Replayed taken(steps("{ 465, 470, 'cudaMalloc' }, { 915, 990, 'cudaStreamSynchronize' }"));
  CHECK(graphed(taken) > graphed(one) + 50);
  const Replayed around(steps("{ 915, 990, 'cudaStreamSynchronize' }", "other"));
  CHECK(graphed(around) > graphed(one) + 150);
}

TEST_CASE("replay: other work of the host ends a graph only where that is to do least") {
  // Ten kernels of 50 us; between the fifth and the sixth the host does something else for 320 us.
  std::string ops;
  for (int k = 0; k < 10; ++k) {
    const int launched = 10 + 30 * k + (k < 5 ? 0 : 320), start = 20 + 55 * k + (k < 5 ? 0 : 190);
    ops += fmt::format("{{ {}, {}, kernel = 'small', launched = {{ {}, {} }} }}, ", start,
                       start + 50, launched, launched + 5);
  }
  const Replayed r(
      "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, "
      "calls = { { 700, 800, 'cudaStreamSynchronize' } }, ops = { " +
      ops + " } }");
  Graph graph = r.change<Graph>("small");
  graph.gap_ns = 1000;
  // The GPU works on while the host does; without the graph's end the pause of 190 us is gone.
  CHECK(r.us({graph}) < r.us({}) - 150);
  CHECK(r.replay.step_ns({graph}, Guess::least) < r.replay.step_ns({graph}));
  // Where the fix does least, that work ends the graph.
  CHECK(r.replay.step_ns({graph}, Guess::best, Guess::most) > r.replay.step_ns({graph}) + 50'000);
  // The host's work is still there where no fix takes it away.
  CHECK(r.us({graph}) > 320 + 50);
}

TEST_CASE("replay: without steps the window is replayed as one step") {
  const Replayed r(std::string(
      R"({ ranges = {}, calls = { { 30, 442, "cudaStreamSynchronize" } }, ops = { { 20, 420, kernel = "a", launched = { 10, 15 } }, { 520, 720, kernel = "b", launched = { 450, 460 } } } })"));
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.recorded_ns() == 710'000);
  CHECK(r.us({}) == 710);
  CHECK(r.us({r.change<Scale>("a", 0.5)}) == 510);
  CHECK(r.us({r.change<Scale>("b", 0.5)}) == 610);
  // No fix makes the window shorter than the device's work.
  CHECK(r.us({r.calls<Drop>("cudaStreamSynchronize")}) >= 600);
}

TEST_CASE("replay: one late operation does not define the usual pause") {
  std::string calls, ops;
  for (int at = 0; at < 20'000; at += 100) {
    const auto us = [&](int after) { return std::to_string(at + after); };
    calls += "{ " + us(16) + ", " + us(95) + ", 'cudaDeviceSynchronize' }, ";
    ops += "{ " + us(20) + ", " + us(90) + ", kernel = 'a', launched = { " + us(10) + ", " +
           us(15) + " } }, ";
  }
  // Queued long before its turn, and still late.
  ops +=
      "{ 20010, 20200, kernel = 'b', launched = { 20000, 20005 } }, "
      "{ 20400, 20500, kernel = 'c', launched = { 20020, 20025 } }";
  const Replayed r("{ ranges = {}, calls = { " + calls + " }, ops = { " + ops + " } }");
  REQUIRE(r.replay.reason() == "");
  CHECK(r.replay.uniform_error() <= 0.02);
}

TEST_CASE("replay: no forecast is below what the link needs") {
  const Replayed r(std::string(
      R"({ ranges = {}, calls = { { 16, 430, "cudaStreamSynchronize" } }, ops = { { 20, 420, copy = "h2d", bytes = 1e7, launched = { 10, 15 } }, { 450, 850, copy = "h2d", bytes = 1e7, stream = 9, launched = { 440, 445 } } } })"));
  Overlap overlap = r.change<Overlap>("*");
  overlap.ops = {0, 1};
  CHECK(r.us({overlap, r.calls<Drop>("cudaStreamSynchronize")}) >= 800);
}

TEST_CASE(
    "replay: a product takes no less than its operations and bytes need, in the precision that it "
    "then has") {
  // An FP32 product of 2 ms, on an H200.
  const auto us = [](const char* sizes, std::optional<Precision> precision, bool fused = false) {
    const Replayed r(fmt::format(
        "{{ ranges = {{ {{ 0, 20, 'aten::mm, sizes = {}' }} }}, ops = {{ {{ 30, 2030, kernel = "
        "'ampere_sgemm_128x64_nn', launched = {{ 5, 10 }} }} }} }}",
        sizes));
    Scale faster = r.change<Scale>("*", 0.01);
    faster.precision = precision;
    faster.fused = fused;
    return r.us({faster}) - r.us({r.change<Scale>("*", 0)});
  };
  // 6.87e10 operations at 51.4 and 318 TFLOP/s.
  const char* many = "[[4096, 2048], [2048, 4096]]";
  CHECK(us(many, Precision::none) == doctest::Approx(1337).epsilon(0.01));
  CHECK(us(many, Precision::none, true) == doctest::Approx(669).epsilon(0.01));
  CHECK(us(many, Precision::tf32) == doctest::Approx(216).epsilon(0.01));
  // Weights of 537 MB, or half as many in BF16, at 4.08 TB/s.
  const char* few = "[[1, 4096], [4096, 32768]]";
  CHECK(us(few, Precision::tf32) == doctest::Approx(131).epsilon(0.01));
  CHECK(us(few, Precision::half) == doctest::Approx(66).epsilon(0.01));
  CHECK(us(few, Precision::half, true) == doctest::Approx(20).epsilon(0.01));  // not written
  // Unless it computes something else.
  CHECK(us(many, std::nullopt) == doctest::Approx(20).epsilon(0.01));
  // The floor is below what it took.
  CHECK(us("[[40960, 2048], [2048, 4096]]", Precision::none) ==
        doctest::Approx(2000).epsilon(0.01));
}

TEST_CASE("replay: without its page faults a kernel still reads the pages that came to it") {
  // A kernel of 10 ms, all of it stalled, to which 408 MB migrate, on an H200.
  const Replayed r(std::string(
      "{ ranges = {}, ops = { { 20, 10020, kernel = 'k', launched = { 10, 15 } }, { 500, 900, copy "
      "= 'um_h2d', bytes = 4.08e8 } } }"));
  const auto us = [&](Guess guess) {
    Shorten shorter = r.change<Shorten>("k");
    shorter.cut_ns.assign(shorter.ops.size(), 10'000'000);
    return static_cast<double>(r.replay.step_ns({shorter}, guess) -
                               r.replay.step_ns({r.change<Scale>("k", 0)}, guess)) /
           1e3;
  };
  CHECK(us(Guess::least) == doctest::Approx(85).epsilon(0.02));  // at 4.8 TB/s
  CHECK(us(Guess::best) == doctest::Approx(100).epsilon(0.02));  // at 4.08
  CHECK(us(Guess::most) == doctest::Approx(386).epsilon(0.02));  // and written, at 2.1
}

TEST_CASE("replay: no forecast is below what the GPU computes in all steps") {
  // 200 steps of 1 ms. In the first half the GPU computes for 900 us of each, in the other for 100:
  // whichever are replayed, the mean is 500.
  std::string ranges, ops;
  for (int i = 0; i < 200; ++i) {
    const int at = 1000 * i, busy = i < 100 ? 900 : 100;
    ranges += fmt::format("{{ {}, {}, \"step {}\" }},", at, at + 999, i);
    ops += fmt::format("{{ {}, {}, kernel = \"k\", launched = {{ {}, {} }} }},", at + 50,
                       at + 50 + busy, at + 40, at + 45);
  }
  const Replayed r("{ ranges = { " + ranges + " }, ops = { " + ops + " } }");
  REQUIRE(r.replay.runs().size() == 1);
  Pause pause{{}, {0, 0, 0}};
  pause.host.push_back({0, {0, 200'000'000}, false});
  CHECK(r.replay.step_ns({pause}) >= 499'000);
  CHECK(r.replay.bounds({}).compute_ns >= 499'000);
}

TEST_CASE("replay: freeing memory waits for its device whatever else no longer does") {
  // Steps of 1 ms: an upload and a kernel of 700 us in all; the host waits for both, then frees and
  // allocates for 200 us. `beside`: more operations.
  const auto frames = [](int upload_us, const std::string& between,
                         const std::string& beside = "") {
    return Replayed(
        fmt::format("{{ repeats = {{ times = 6, every = 1000 }}, ranges = {{ {{ 0, 999, 'step "
                    "{{n}}' }} }}, calls "
                    "= {{ {{ 30, 725, 'cudaStreamSynchronize' }}, {} }}, ops = {{ {{ 20, {}, copy "
                    "= 'h2d', bytes "
                    "= 1e7, launched = {{ 10, 15 }} }}, {{ {}, 721, kernel = 'k', launched = {{ "
                    "16, 21 }} }}, {} "
                    "}} }}",
                    between, 20 + upload_us, 21 + upload_us, beside));
  };
  const auto uploads_of = [](const Replayed& r) {
    Overlap uploads;
    for (Row op = 0; op < r.analysis.trace.ops.size(); ++op)
      if (r.analysis.trace.ops.kind[op] == OpKind::copy) uploads.ops.push_back(op);
    return uploads;
  };
  const auto us = [&](const Replayed& r) {
    return r.us({uploads_of(r), r.calls<Unblock>("cudaStreamSynchronize")});
  };
  const std::string freed = "{ 730, 830, 'cudaFree' }, { 830, 930, 'cudaMalloc' }";
  // 500 us of the kernel, 100 of either call, and the host's 80 us until the next launch.
  CHECK(frames(200, freed).us({}) == 1000);
  CHECK(us(frames(200, freed)) == doctest::Approx(796).epsilon(0.01));
  // What moved to another stream is waited for as well.
  CHECK(us(frames(600, freed)) == doctest::Approx(890).epsilon(0.01));
  // Even if two changes move different work, and not if the call no longer waits.
  const Replayed twice = frames(600, freed);
  CHECK(twice.us({uploads_of(twice), twice.change<Overlap>("k"),
                  twice.calls<Unblock>("cudaStreamSynchronize")}) > 880);
  CHECK(twice.us({uploads_of(twice), twice.calls<Unblock>("cudaStreamSynchronize"),
                  twice.calls<Unblock>("cudaFree")}) < 700);
  // Another process has its own memory, and its own steps of 1 ms.
  CHECK(us(frames(200, freed, "{ 740, 940, kernel = 'other', rank = 1, gpu = 1 }")) ==
        doctest::Approx((796 + 1000) / 2).epsilon(0.01));
  // From a pool, nothing waits; nor does allocating, of whatever kind.
  CHECK(us(frames(200, "{ 730, 830, 'cudaFreeAsync' }, { 830, 930, 'cudaMallocAsync' }")) < 550);
  CHECK(us(frames(200, "{ 730, 830, 'cudaMallocHost' }, { 830, 930, 'cudaMalloc' }")) < 550);
}

TEST_CASE("replay: a pageable copy waits for its stream, unless it is small and goes to the GPU") {
  // Behind a copy of 10 us a launch follows; the host is not ahead, so the copy's call is short.
  const auto us = [](const std::string& copy) {
    const Replayed r(
        "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, "
        "ops = { { 20, 520, kernel = 'k', launched = { 10, 15 } }, { 805, 815, " +
        copy +
        ", launched = { 800, 818 } }, { 830, 930, kernel = 'after', launched = { 822, "
        "827 } } } }");
    // The host no longer does anything between its calls: it is ahead but for the copy.
    Pause pause{{}, {0, 0, 0}};
    pause.host.push_back({0, {0, 6'000'000}, false});
    return r.us({pause, r.change<Remove>("after")});
  };
  const double waits = us("copy = 'd2h', bytes = 8, to = 'pageable'"),
               runs = us("copy = 'd2h', bytes = 8, to = 'pinned'");
  CHECK(waits > runs);
  CHECK(us("copy = 'h2d', bytes = 100000, from = 'pageable'") == waits);
  CHECK(us("copy = 'h2d', bytes = 65536, from = 'pageable'") == runs);
}

TEST_CASE("replay: a lead that the host has does not last, so only Guess::least counts on it") {
  // The host launches a step every 300 us; the GPU takes 800 us for the first and 1.2 ms for the
  // last, so the ones in the middle are replayed.
  std::string ranges, ops;
  int ended = 20;
  for (int i = 0; i < 80; ++i) {
    const int launched = 300 * i, at = ended + 1;
    ended = at + 800 + 5 * i;
    ranges += fmt::format("{{ {}, {}, \"step {}\" }},", launched, launched + 299, i);
    ops += fmt::format("{{ {}, {}, kernel = \"k\", launched = {{ {}, {} }} }},", at, ended,
                       launched + 10, launched + 15);
  }
  const Replayed r("{ ranges = { " + ranges + " }, ops = { " + ops + " } }");
  const auto us_of = [&](double by, Guess guess) {
    return static_cast<double>(r.replay.step_ns({r.change<Scale>("k", by)}, guess)) / 1e3;
  };
  // Minus what the profiler may have added to the host's calls.
  CHECK(us_of(0.2, Guess::least) < 240);
  for (const Guess guess : {Guess::best, Guess::most}) {
    CHECK(us_of(0.2, guess) > 250);
    CHECK(us_of(0.2, guess) < 305);
  }
  CHECK(us_of(0.5, Guess::most) == doctest::Approx(500).epsilon(0.05));
}

TEST_CASE("replay: copies on a separate stream overlap with kernels") {
  const Replayed r(std::string(
      R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } }, calls = { { 30, 992, "cudaStreamSynchronize" } },
    ops = { { 20, 320, copy = "h2d", bytes = 1e7, launched = { 10, 15 } }, { 321, 971, kernel = "k", launched = { 16, 21 } } } })"));
  Overlap overlap;
  for (Row op = 0; op < r.analysis.trace.ops.size(); ++op)
    if (r.analysis.trace.ops.kind[op] == OpKind::copy) overlap.ops.push_back(op);
  CHECK(r.us({}) == 1000);
  CHECK(r.us({overlap}) < 720);
  CHECK(r.us({overlap}) > 650);
}

TEST_CASE("replay: a report that cannot be replayed says why") {
  CHECK(support::contains(
      Replayed(std::string("{ repeats = { times = 3, every = 1000 }, ranges = { { 0, 999, 'step "
                           "{n}' } }, ops = { { 20, 900, kernel = 'a', launched = false } } }"))
          .replay.reason(),
      "calls"));
  CHECK(Replayed("{}").replay.reason() != "");
}

TEST_CASE("replay: processes that share a GPU are not replayed; those with separate GPUs are") {
  // The second rank's kernel, from 520 to `end`; both ranks on one GPU, or on one each.
  const auto replayed = [](const char* end, bool on_one, int start = 520) {
    Trace trace = trace_from_text(
        std::string("return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, 'step "
                    "{n}' }, { 0, 999, 'step {n}', rank = 1 } }, ops = { { 20, 500, kernel = 'a' "
                    "}, { ") +
        std::to_string(start) + ", " + end + ", kernel = 'a', rank = 1 } } }");
    if (on_one) {
      for (Stream& s : trace.streams) s.device = 0;
    }
    return Replayed(std::move(trace));
  };
  CHECK(replayed("900", false).replay.reason() == "");
  const Replayed shared = replayed("900", true);
  CHECK(support::contains(shared.replay.reason(), "2 processes share a GPU"));
  CHECK_FALSE(shared.replay.trusted());
  CHECK(shared.replay.distrust() == shared.replay.reason());
  // A process that ends a pause shares the GPU, however little it runs; one that touches it briefly
  // does not.
  CHECK(support::contains(replayed("522", true).replay.reason(), "2 processes"));
  CHECK(replayed("506", true, 503).replay.reason() == "");
}

TEST_CASE("replay: a rule's change is replayed, and an unreadable one fails the rule") {
  const auto report = [](const std::string& change, bool replayed = true) {
    const Rule rule = load_rule(
        "return { id = 'a-rule', category = 'tests', title = 'A rule', since = '0.1', messages = "
        "{ m = 'm' }, doc = { what = 'a', why = 'b', fix = 'c', wrong = 'd' },\n"
        "evaluate = function(trace) local k = trace:ops { name = 'product' } return { { subject "
        "= 's', message = 'm', recoverable_ns = 0.01 * trace:total_ns(), change = " +
            change + " } } end }",
        "a-rule.lua");
    const Analysis analysis(trace_from_text("return " + gpu_bound), Classes(), {});
    const Facts facts(analysis);
    return evaluate({rule}, analysis, facts, {}, replayed);
  };
  const Report r = report("{ { scale = k, by = 0.5, least = 0.4, most = 0.6 } }");
  REQUIRE(r.findings.size() == 1);
  const Finding& f = r.findings[0];
  REQUIRE(f.predicted);
  CHECK(f.recoverable_ns == doctest::Approx(250e3).epsilon(0.02));
  CHECK(f.severity == Severity::error);
  CHECK(f.predicted->least_ns < f.predicted->step_ns - 50'000);
  CHECK(f.predicted->most_ns > f.predicted->step_ns + 50'000);
  REQUIRE(r.plan);
  REQUIRE(r.plan->fixes.size() == 1);
  CHECK(r.plan->fixes[0].step.step_ns == f.predicted->step_ns);
  const Report plain = report("{ { scale = k, by = 0.5 } }", false);
  CHECK(!plain.findings[0].predicted);
  CHECK(plain.findings[0].recoverable_fraction == doctest::Approx(0.01));
  CHECK(!plain.plan);
  CHECK(!report("nil").findings[0].predicted);
  for (const char* bad :
       {"5", "{ { 5 } }", "{ {} }", "{ { scael = k } }", "{ { unblock = k } }", "{ { scale = 5 } }",
        "{ { pause = trace:calls() } }", "{ { shorten = k } }", "{ { scale = k, by = 0/0 } }",
        "{ { scale = k, by = 'much' } }", "{ { shorten = k, stalls = { 5 } } }",
        "{ { scale = k, gap_ns = {} } }", "{ { scale = k, precision = 'int4' } }",
        "{ { scale = k, precision = 5 } }", "{ { remove = k, precision = 'same' } }",
        "{ { remove = k, fused = true } }"}) {
    CAPTURE(bad);
    CHECK(report(bad).failed.size() == 1);
  }
}

TEST_CASE("replay: steps with different token counts are compared per token") {
  std::string literal = gpu_bound;
  literal.replace(literal.find("step {n}"), 8, "step {n} tokens=4096");
  const Analysis analysis(trace_from_text("return " + literal), Classes(), {});
  const Facts facts(analysis);
  const Report r = evaluate({}, analysis, facts, {});
  REQUIRE(r.plan);
  CHECK(r.plan->item == "tokens");
  CHECK(r.plan->items == doctest::Approx(4096));
}

TEST_CASE("replay: the fix of a root cause may also cure its consequences") {
  Estimated root, sign;
  root.rule = "root";
  root.replayed = Prediction{.step_ns = 50, .least_ns = 40, .most_ns = 60, .why = "a"};
  sign.rule = "sign";
  sign.root = "root";
  sign.replayed = Prediction{.step_ns = 90, .least_ns = 80, .most_ns = 95, .why = "b"};
  const std::vector<Placed> placed =
      widened_by_roots({{&root, standing_alone(root)}, {&sign, standing_alone(sign)}});
  CHECK(placed[1].standing.predicted->least_ns == 40);
  CHECK(placed[1].standing.predicted->most_ns == 95);
  CHECK(support::contains(placed[1].standing.predicted->why, "root"));
  CHECK(placed[0].standing.predicted->least_ns == 40);
  CHECK(sign.replayed->least_ns == 80);  // by itself it cures no more than before
}

TEST_CASE("replay: once launches no longer wait for their kernels, the host runs ahead") {
  // The host works for 100 us before each launch, and the GPU is idle meanwhile.
  const Replayed r(R"({ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
    ops = { { 110, 490, kernel = "a", launched = { 100, 500 } }, { 610, 990, kernel = "b", launched = { 600, 999 } } } })");
  CHECK(r.us({}) == 1000);
  const double free = r.us({r.calls<Unblock>("cudaLaunchKernel")});
  CHECK(free < 800);  // two kernels of 380 us in a row
  CHECK(free >= 760);
}

TEST_CASE("replay: kernels of two streams that took turns overlap") {
  // Each stream computes half of the time, since each kernel waits for the other stream's.
  std::string ops;
  for (int i = 0; i < 8; ++i)
    ops += fmt::format("{{ {}, {}, kernel = '{}', stream = {}, launched = {{ {}, {}.5 }} }},",
                       20 + 110 * i, 129 + 110 * i, i % 2 == 0 ? "a" : "b", i % 2 == 0 ? 7 : 9,
                       1 + i, 1 + i);
  const Replayed r(
      "{ repeats = { times = 6, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, "
      "calls = { { 15, 910, 'cudaDeviceSynchronize' } }, ops = { " +
      ops + " } }");
  REQUIRE(r.replay.reason() == "");
  const Ns apart = r.replay.step_ns({r.change<Overlap>("b")});
  CHECK(apart > 430'000);
  CHECK(apart < 600'000);
}
