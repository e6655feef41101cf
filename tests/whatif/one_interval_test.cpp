// One interval: account, replay and path are of the same time of the same steps. The unchanged
// replay is the recording, and what it leaves of each cause is the account less what the profiler
// added.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "read/read.hpp"
#include "support/support.hpp"
#include "support/traces.hpp"
#include "whatif/graph.hpp"
#include "whatif/replay.hpp"

using namespace gh;

namespace {

constexpr double ns = 1;  // each figure is rounded once

double sum(const OfCauses& of_causes) {
  return std::accumulate(of_causes.begin(), of_causes.end(), 0.0);
}

// The steps of a run that are measured on a device.
std::vector<std::size_t> measured_steps(const ReplayedSteps& run, std::size_t device) {
  const auto [first, count] = run.device_steps[device];
  const auto counted = static_cast<std::size_t>(run.periods(device));
  std::vector<std::size_t> steps(counted);
  std::iota(steps.begin(), steps.end(), first + count - counted);
  return steps;
}

// Every call and every operation ends when it did, so that what is measured is what the account
// counts: the same time on each device.
void check_unchanged(const Analysis& a, const ReplayedSteps& run) {
  const ReplayGraph graph(a, run);
  const std::vector<Ns> at = graph.times(graph.recorded);
  std::size_t moved = 0;
  for (Row op = run.ops.first; op < run.ops.end(); ++op)
    moved += at[graph.op_node(op)] != a.trace.ops.end[op];
  for (const auto& calls : graph.thread_calls)
    for (const Row call : calls) moved += at[graph.end_node(call)] != a.trace.calls.end[call];
  CHECK(moved == 0);
  CHECK(graph.measured(at) == run.measured);
  CHECK(graph.step_ns(at) == run.recorded_ns);
  for (std::size_t d = 0; d < run.measured.size(); ++d) {
    Ns counted = 0;
    for (const std::size_t k : measured_steps(run, d))
      counted += a.devices[d].steps[k].span.length();
    if (run.scale == 1) CHECK(run.measured[d].length() == counted);
  }
}

// The account of the steps that are measured, by cause: the mean of one.
OfCauses account_of(const Analysis& a, const Replay& replay) {
  OfCauses mean(a.account.causes.size());
  for (const ReplayedSteps* run : replay.runs())
    for (std::size_t d = 0; d < a.devices.size(); ++d)
      for (const std::size_t k : measured_steps(*run, d))
        for (std::size_t c = 0; c < mean.size(); ++c)
          mean[c] += run->weight * static_cast<double>(a.account.devices[d].step_ns.of(k, c)) /
                     static_cast<double>(run->periods(d)) / static_cast<double>(a.devices.size());
  return mean;
}

void check_one_interval(const Analysis& a) {
  const Ns recording = a.trace.capture_end - a.trace.capture_start;
  for (const DeviceSteps& d : a.devices) {
    Ns accounted = 0;
    for (const Step& step : d.steps) accounted += step.span.length();
    CHECK(accounted <= recording);
  }
  const Replay replay(a);
  if (!replay.reason().empty()) return;
  for (const ReplayedSteps* run : replay.runs()) {
    check_unchanged(a, *run);
    for (std::size_t d = 0; d < run->measured.size(); ++d)
      CHECK(run->measured[d].length() <= recording);
  }
  CHECK(replay.step_ns({}) <= replay.recorded_ns());

  const OfCauses &recorded = replay.recorded_by_cause(), &left = replay.left_by_cause();
  const OfCauses account = account_of(a, replay);
  REQUIRE(recorded.size() == account.size());
  REQUIRE(left.size() == account.size());
  // Each device's mean is rounded.
  const auto devices = static_cast<double>(a.devices.size());
  CHECK(std::abs(sum(recorded) - static_cast<double>(replay.recorded_ns())) <= ns * devices);
  if (replay.measured_ns() == 0)
    CHECK(std::abs(sum(left) - static_cast<double>(replay.step_ns({}))) <= ns);
  for (std::size_t c = 0; c < account.size(); ++c) {
    CAPTURE(a.account.causes[c]);
    if (replay.of_window() == 1) CHECK(std::abs(recorded[c] - account[c]) <= ns);
    CHECK(left[c] >= -ns);
  }

  // What a report says adds up to its step, and differs from the whole by what it says.
  const StepTime& step = replay.step();
  CHECK(step.part_ns == replay.recorded_ns());
  CHECK(step.recorded_ns == a.recorded_step_ns());
  double said = 0;
  for (std::size_t c = 0; c < account.size(); ++c) said += step.total_ns(a, c);
  CHECK(said == doctest::Approx(step.total_ns(a)).epsilon(1e-9));

  const Path& path = replay.path();
  if (a.devices.size() == 1 && replay.runs().size() == 1)
    CHECK(std::abs(static_cast<double>(path.total_ns) * path.scale /
                       static_cast<double>(path.periods) -
                   static_cast<double>(replay.recorded_ns())) <= ns);
}

constexpr auto us = [](Ns value) { return 1000 * value; };

}  // namespace

TEST_CASE(
    "one interval: on every recording the unchanged replay is the account, cause by cause, and "
    "nothing is longer than the recording") {
  std::vector<std::filesystem::path> all = support::recordings();
  for (const auto& more : {support::unmarked_recordings(), support::torch_traces()})
    all.insert(all.end(), more.begin(), more.end());
  for (const auto& path : support::few_with_sanitizers(all)) {
    CAPTURE(path.filename().string());
    check_one_interval(support::analysed(read_report(path)));
  }
}

TEST_CASE("one interval: of programs with several streams, threads, devices and ranks") {
  const std::string programs[] = {
      // The host is ahead; an upload for the next step runs beside the kernels.
      R"({ repeats = { times = 8, every = 1000 }, ranges = { { 0, 700, "step {n}" } },
           ops = { { 20, 950, kernel = "product", launched = { 10, 15 } },
                   { 760, 900, copy = "h2d", bytes = 4096, stream = 8, launched = { 750, 755 } } } })",
      // Steps of different lengths.
      R"({ repeats = { times = 5, every = 1000 }, ranges = { { 0, 999, "step {n}" } },
           ops = { { 20, 320, kernel = "a", launched = { 10, 15 } },
                   { 400, 900, kernel = "b", stream = 9, launched = { 30, 35 } },
                   { 6000, 6400, kernel = "b", launched = { 5990, 5995 } } } })",
      // No steps.
      R"({ ops = { { 120, 520, kernel = "a", launched = { 10, 115 } },
                   { 500, 700, kernel = "b", stream = 8, launched = { 118, 119 } },
                   { 900, 950, copy = "d2h", bytes = 8, launched = { 890, 960 } } } })",
      // Ranks that wait for each other, and whose windows differ.
      R"({ ops = { { 100, 900, kernel = "ncclDevKernel_AllReduce", launched = { 50, 55 } },
                   { 400, 900, kernel = "ncclDevKernel_AllReduce", launched = { 390, 395 }, rank = 1 },
                   { 920, 990, kernel = "a", launched = { 910, 915 }, rank = 1 } } })"};
  for (const std::string& program : programs) {
    CAPTURE(program);
    check_one_interval(support::analysed("return " + program));
  }
}

TEST_CASE("one interval: a window begins at its first launch, for all that is said of it") {
  // The first launch loads the kernel's code for 246 ms.
  const Analysis a = support::analysed(
      "return { ops = { { 246900, 246955, kernel = 'k', launched = { 100, 246890 } } } }");
  CHECK(a.devices[0].steps[0].span == Span{us(100), us(246'955)});
  CHECK(a.devices[0].steps[0].host_start == us(100));
  CHECK(a.analysed_window() == a.devices[0].steps[0].span);
  CHECK(a.devices[0].before_ns == 0);
  CHECK(a.busy_step_ns() == us(55));
  const Replay replay(a);
  REQUIRE(replay.reason() == "");
  CHECK(replay.recorded_ns() == us(246'855));
  CHECK(a.recorded_step_ns() == us(246'855));
  CHECK(replay.step().total_ns(a, 0) <= us(55));
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    if (!a.account.kinds[c].is_idle()) CHECK(replay.step().total_ns(a, c) <= us(55) + ns);
}

TEST_CASE("one interval: the first launch need not be that of the first operation") {
  const auto begin = [](const std::string& ops) {
    return support::analysed("return { ops = {" + ops + "} }").devices[0].steps[0].span.start;
  };
  const std::string later = "{ 300, 400, kernel = 'b', stream = 8, launched = { 10, 20 } },";
  CHECK(begin("{ 100, 200, kernel = 'a', launched = { 50, 60 } }," + later) == us(10));
  CHECK(begin("{ 5, 200, kernel = 'a', launched = false }," + later) == us(5));
}

TEST_CASE("one interval: each device has its own window, and the replay's is their mean") {
  const Analysis a = support::analysed(
      "return { ops = { { 20, 1010, kernel = 'a', launched = { 10, 15 } },"
      "{ 520, 610, kernel = 'a', launched = { 510, 515 }, rank = 1 } } }");
  REQUIRE(a.devices.size() == 2);
  const Replay replay(a);
  REQUIRE(replay.reason() == "");
  CHECK(a.recorded_step_ns() == us(550));
  CHECK(replay.recorded_ns() == us(550));
  CHECK(replay.profiled_step_ns({}) == us(550));
}

TEST_CASE("one interval: an operation belongs to the step in which it was launched") {
  // Each upload ends before the kernel of the step before the one that it is launched in.
  const Analysis a = support::analysed(
      R"(return { repeats = { times = 6, every = 1000 }, ranges = { { 0, 700, "step {n}" } },
           ops = { { 20, 950, kernel = "product", launched = { 10, 15 } },
                   { 760, 900, copy = "h2d", bytes = 4096, stream = 8, launched = { 750, 755 } } } })");
  const ReplayedSteps run = choose_runs(a).front();
  REQUIRE(run.reason == "");
  std::size_t uploads = 0;
  for (Row op = run.ops.first; op + 1 < run.ops.end(); ++op) {
    if (a.trace.ops.copy[op] != CopyKind::h2d) continue;
    // The next operation is the kernel of the step for which it is sent. What ended before the
    // first step counts for nothing.
    if (run.step_of(op + 1) < 1) continue;
    ++uploads;
    CHECK(run.step_of(op) == run.step_of(op + 1));
  }
  CHECK(uploads >= 3);
}

TEST_CASE("one interval: a part that stands for all says how far it is from them") {
  // The first of three steps takes longer than the others.
  const Analysis a = support::analysed(support::recorded("cpuadam"));
  const Replay replay(a);
  REQUIRE(replay.reason() == "");
  const StepTime& step = replay.step();
  CHECK(step.recorded_ns == a.recorded_step_ns());
  CHECK(std::abs(step.part_ns - step.recorded_ns) > step.recorded_ns / 100);
  // Idle time takes the difference; kernels and copies took as long in the others.
  double worked_ns = 0;
  for (std::size_t c = 0; c < a.account.causes.size(); ++c)
    if (!a.account.kinds[c].is_idle()) worked_ns += step.total_ns(a, c);
  CHECK(worked_ns / static_cast<double>(a.step_count()) ==
        doctest::Approx(static_cast<double>(a.busy_step_ns())).epsilon(0.001));
}
