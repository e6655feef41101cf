// What the profiler added, if a step was measured without it: the overhead that explains the
// measured step, and forecasts if none does.
#include "whatif/overhead.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <tuple>

#include "read/nsys.hpp"
#include "rules/literal_trace.hpp"
#include "support/support.hpp"
#include "whatif/plan.hpp"

using namespace gh;

namespace {

// Eight steps of 1 ms. In each the host launches fifty kernels of 4 us, one every 20 us.
std::string launching(double measured_us) {
  std::string ops;
  for (int i = 0; i < 50; ++i)
    ops += fmt::format(R"({{ {0}, {1}, kernel = "k", launched = {{ {2}, {3} }} }},)", 20 * i + 8,
                       20 * i + 12, 20 * i, 20 * i + 5);
  return fmt::format(
      R"(return {{ repeats = {{ times = 8, every = 1000 }}, measured_step = {}, ranges = {{ {{ 0, 999, "step {{n}}" }} }}, ops = {{ {} }} }})",
      measured_us, ops);
}

Trace recorded(const char* name, Ns measured_ns) {
  Trace trace = read_nsys(std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite"));
  trace.measured_step = {measured_ns, "the test"};
  return trace;
}

struct Measured {
  Analysis analysis;
  Replay replay;
  explicit Measured(Trace trace) : analysis(std::move(trace), Classes(), {}), replay(analysis) {}
  explicit Measured(double measured_us) : Measured(trace_from_text(launching(measured_us))) {}

  // Every kernel takes this share of its time.
  Changes scaled(double by) const {
    change::Scale c{{}, {by, by, by}};
    for (Row op = 0; op < analysis.trace.ops.size(); ++op) c.ops.push_back(op);
    return {c};
  }
};

Ns width(const Prediction& p) { return p.most_ns - p.least_ns; }

}  // namespace

TEST_CASE("overhead: the more the profiler is assumed to have added, the shorter the step") {
  for (const char* name : {"launchbound", "good", "starved", "syncs-pageable", "um"}) {
    CAPTURE(name);
    const Analysis analysis(recorded(name, 0), Classes(), {});
    const ReplayedSteps steps = choose_runs(analysis).front();
    const ReplayGraph graph(analysis, steps);
    const auto step = [&](double worth) {
      return graph.step_ns(graph.times(without_overhead(graph, worth)));
    };
    CHECK(std::abs(step(0) - steps.recorded_ns) <= steps.recorded_ns / 1000);
    Ns before = step(0);
    for (const double worth : {0.1, 0.3, 0.5, 1.0, 2.0, 4.0, 6.0}) {
      CHECK(step(worth) <= before);
      before = step(worth);
    }
    // The overhead that explains a step in between gives that step.
    const Ns between = (step(0.5) + step(6)) / 2;
    const LaunchesWorth worth = known_overhead(graph, between);
    CHECK(std::abs(step(worth[index_of(Guess::best)]) - between) <= between / 50);
    CHECK(worth[index_of(Guess::most)] <= worth[index_of(Guess::best)]);
    CHECK(worth[index_of(Guess::best)] <= worth[index_of(Guess::least)]);
  }
}

TEST_CASE("overhead: a range around each operator slows the host, by an amount that is not known") {
  // The host takes 50 us from one launch to the next; each of two operators in between has a range.
  const auto steps = [](const std::string& arguments) {
    std::string ops, ranges;
    for (int i = 0; i < 20; ++i) {
      const int at = 50 * i;
      ops += fmt::format("{{ {}, {}, kernel = 'k', launched = {{ {}, {} }} }},", at + 8, at + 12,
                         at, at + 5);
      for (const int begin : {10, 30})
        ranges +=
            fmt::format("{{ {}, {}, 'aten::op{}' }},", at + begin, at + begin + 15, arguments);
    }
    return Measured(trace_from_text(fmt::format(
        "return {{ repeats = {{ times = 8, every = 1000 }}, ranges = {{ {{ 0, 999, 'step {{n}}' "
        "}}, {} }}, ops = {{ {} }} }}",
        ranges, ops)));
  };
  const Measured bare = steps(""), with_ids = steps(", op_id = 7, sizes = [[8, 8]]");
  // Forty ranges of 8 us, and forty of 1.
  const Ns longer = bare.replay.step_ns({}) - with_ids.replay.step_ns({});
  CHECK(longer > 200'000);
  CHECK(longer < 320'000);
  const StepTime& step = with_ids.replay.step();
  CHECK(step.is_uncertain());
  CHECK(step.least_ns < step.ns);
  // They may have cost nothing.
  CHECK(step.most_ns == doctest::Approx(bare.replay.step().most_ns).epsilon(0.02));
}

TEST_CASE("overhead: programs with ranges around operators take what was measured without them") {
  for (const auto& [name, step_ms, bf16_ms] : {std::tuple{"nvtx-lm-forward", 11.968, 4.3878},
                                               {"nvtx-encoder-forward", 22.1304, 4.0552},
                                               {"nvtx-lm-training", 26.6206, 14.367}}) {
    CAPTURE(name);
    const Measured recorded_step(recorded(name, 0));
    const auto ms = [](Ns ns) { return static_cast<double>(ns) / 1e6; };
    CHECK(ms(recorded_step.replay.step_ns({})) == doctest::Approx(step_ms).epsilon(0.02));
    // The host that the profiler slowed must not hide what a shorter GPU saves.
    Changes faster = recorded_step.scaled(bf16_ms / step_ms);
    CHECK(ms(recorded_step.replay.step_ns(faster)) < 0.6 * step_ms);
  }
}

TEST_CASE("overhead: a measured step is the step now, and ranges are narrower") {
  const Measured guessed(0.0), known(700.0);
  CHECK(guessed.replay.measured_ns() == 0);
  CHECK(known.replay.measured_ns() == 700'000);
  CHECK(known.replay.unexplained_ns() == 0);
  CHECK(known.replay.trusted());
  for (const Guess guess : {Guess::best, Guess::least, Guess::most})
    CHECK(known.replay.step_ns({}, guess) == 700'000);
  CHECK(known.replay.profiled_step_ns({}) == guessed.replay.profiled_step_ns({}));
  const Prediction now = predicted(known.replay, {}, "");
  CHECK(now.least_ns == 700'000);
  CHECK(now.most_ns == 700'000);

  // A change with no effect leaves the measured step; any other makes it shorter.
  CHECK(std::abs(predicted(known.replay, known.scaled(1), "").step_ns - 700'000) <= 1000);
  const Prediction without = predicted(guessed.replay, guessed.scaled(0.5), ""),
                   with = predicted(known.replay, known.scaled(0.5), "");
  CHECK(width(with) < width(without) / 2);
  CHECK(with.step_ns <= 700'000);
  CHECK(with.why == "run-to-run variation");
  CHECK(make_plan(known.replay, {}).now.step_ns == 700'000);
}

TEST_CASE("overhead: if no plausible overhead explains the measured step, ranges say so") {
  const Measured least(0.0), known(400.0);
  REQUIRE(least.replay.step_ns({}, Guess::least) > 410'000);
  CHECK(known.replay.unexplained_ns() ==
        doctest::Approx(least.replay.step_ns({}, Guess::least) - 400'000).epsilon(0.01));
  CHECK(known.replay.step_ns({}) == 400'000);
  CHECK(known.replay.trusted());
  const Prediction half = predicted(known.replay, known.scaled(0.5), "");
  CHECK(half.least_ns <= half.step_ns);
  CHECK(half.step_ns <= half.most_ns);
  CHECK(width(half) >= known.replay.unexplained_ns() / 2);
  CHECK(support::contains(half.why, "beyond what a profiler is known to add"));

  const Measured wrong(190.0);  // another program, or a wrong unit
  CHECK(!wrong.replay.trusted());
  CHECK(support::contains(wrong.replay.distrust(), "by more than a profiler is known to add"));
  CHECK(wrong.replay.step_ns({}) == 190'000);
  // Below the GPU's own 200 us it is no step of this program at all.
  CHECK(Measured(10.0).replay.measured_ns() == 0);
}

TEST_CASE("overhead: a measured step longer than the recorded one is not trusted") {
  const Measured noise(1040.0), longer(1300.0);
  CHECK(noise.replay.trusted());
  CHECK(noise.replay.step_ns({}) == 1'040'000);
  CHECK(!longer.replay.trusted());
  CHECK(support::contains(longer.replay.distrust(), "is longer than the recorded one"));
  CHECK(longer.replay.step_ns({}) == 1'300'000);
  CHECK(longer.replay.unexplained_ns() < 0);
}

TEST_CASE("overhead: without steps, a measured step means nothing") {
  Trace trace =
      trace_from_text(R"(return { measured_step = 500, ops = { { 20, 950, kernel = "k" } } })");
  CHECK(trace.measured_step.ns == 500'000);
  const Analysis analysis(std::move(trace), Classes(), {});
  CHECK(analysis.measured_step_ns() == 0);
  CHECK(analysis.step_ns() == analysis.recorded_step_ns());
}

TEST_CASE("overhead: copies down into pageable memory may have been slowed, others were not") {
  // Eight steps of 1 ms, which a copy fills.
  const auto least = [](const std::string& copy) {
    const Measured m(trace_from_text(
        "return { repeats = { times = 8, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, "
        "calls "
        "= { { 6, 905, 'cudaStreamSynchronize' } }, ops = { { 10, 900, " +
        copy + ", bytes = 1e7, launched = { 0, 5 } } } }"));
    CHECK(m.replay.step().most_ns >= 990'000);
    CHECK(m.replay.step().ns >= 960'000);
    return m.replay.step().least_ns;
  };
  CHECK(least("copy = 'd2h', to = 'pageable'") < 300'000);
  CHECK(least("copy = 'd2h', to = 'pinned'") > 900'000);
  CHECK(least("copy = 'h2d', from = 'pageable'") > 900'000);
}

TEST_CASE("overhead: a few launches, or the first of each kernel, do not tell how long they take") {
  // Eight steps of 2 ms; the host does nothing between `launches` launches of 100 us each.
  const auto step = [](int launches, bool of_one_kernel) {
    std::string ops;
    for (int n = 0; n < 8; ++n)
      for (int i = 0; i < launches; ++i) {
        const int at = 2000 * n + 100 * i;
        ops += fmt::format("{{ {}, {}, kernel = 'k{}', launched = {{ {}, {} }} }},", at + 104,
                           at + 108, of_one_kernel ? 0 : 100 * n + i, at, at + 100);
      }
    const Measured m(trace_from_text(
        "return { ranges = { { 0, 1999, 'step 1' }, { 2000, 3999, 'step 2' }, { 4000, 5999, 'step "
        "3' }, { 6000, 7999, 'step 4' }, { 8000, 9999, 'step 5' }, { 10000, 11999, 'step 6' }, { "
        "12000, 13999, 'step 7' }, { 14000, 15999, 'step 8' } }, ops = { " +
        ops + " } }"));
    return static_cast<double>(m.replay.step_ns({})) / 1e3;
  };
  // Two usual launches are taken off each, at most four fifths of it.
  CHECK(step(16, true) < 800);
  CHECK(step(16, false) > 1800);
  CHECK(step(1, true) > 1980);
}

TEST_CASE("overhead: each kind of call was slowed by what it is known to be") {
  // Eight steps of 1 ms, in which the host makes ten calls of 50 us.
  const auto saved_us = [](const char* name, int count) {
    std::string calls;
    for (int i = 0; i < count; ++i)
      calls += fmt::format("{{ {}, {}, '{}' }},", 60 * i, 60 * i + 50, name);
    const Measured m(trace_from_text(
        "return { repeats = { times = 8, every = 1000 }, ranges = { { 0, 999, 'step {n}' } }, "
        "calls "
        "= { " +
        calls + " }, ops = { { 910, 930, kernel = 'k', launched = { 900, 905 } } } }"));
    return static_cast<double>(m.replay.recorded_ns() - m.replay.step_ns({})) / 1e3;
  };
  const double record = saved_us("cudaEventRecord", 10) - saved_us("", 0);
  CHECK(record == doctest::Approx(7.0 / 6 * 10 * 1.4).epsilon(0.02));  // seven pauses, six steps
  CHECK(saved_us("cudaGetDevice", 10) - saved_us("", 0) == doctest::Approx(record));
  CHECK(saved_us("cudaMallocHost", 10) - saved_us("", 0) ==
        doctest::Approx(record * 10 / 1.4).epsilon(0.05));
}
