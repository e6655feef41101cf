// Work that the profiler lost: steps that are whole are judged, the others are left out.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "rules/rules.hpp"
#include "support/traces.hpp"
#include "whatif/replay.hpp"

using namespace gh;
using namespace support;

namespace {

// A program that launches kernels of 50 us, each in a step another, as a profiler writes it that
// loses some: their launches are there.
struct Recording {
  int steps = 12;
  int launches = 20;                                  // a step
  bool marked = true;                                 // by a range around each
  std::function<bool(int step, int launch)> is_lost;  // the kernel

  static constexpr double kernel_us = 50, launch_us = 4, between_us = 30;
  Ns step_ns() const {
    return static_cast<Ns>(1000 * (launches * kernel_us + launch_us + between_us));
  }

  Trace trace() const {
    std::string ops, calls, ranges;
    double host = 10, free = 0;
    for (int s = 0; s < steps; ++s) {
      const double begin = host;
      for (int k = 0; k < launches; ++k, host += launch_us) {
        free = std::max(free, host + launch_us) + kernel_us;
        if (is_lost(s, k))
          calls += fmt::format("{{ {}, {}, 'cudaLaunchKernel' }},", host, host + launch_us);
        else
          ops += fmt::format("{{ {}, {}, kernel = 'k{}', launched = {{ {}, {} }} }},",
                             free - kernel_us, free, k, host, host + launch_us);
      }
      calls += fmt::format("{{ {}, {}, 'cudaDeviceSynchronize' }},", host, free);
      host = free + between_us;
      if (marked) ranges += fmt::format("{{ {}, {}, 'step {}' }},", begin, host, s);
    }
    return trace_from_text("return { ops = {" + ops + "}, calls = {" + calls + "}, ranges = {" +
                           ranges + "} }");
  }
};

bool none(int, int) { return false; }
bool first_five(int step, int) { return step < 5; }
// One of so many, at random.
template <std::uint32_t many>
bool one_of(int step, int launch) {
  const auto n = static_cast<std::uint32_t>(step * 20 + launch);
  return (n * 2654435761U >> 16) % many == 0;
}

// The largest difference of a step's length from what it was, as a share of that.
double most_off(const DeviceSteps& d, const Recording& recording) {
  double most = 0;
  const auto was = static_cast<double>(recording.step_ns());
  for (const Ns length : d.lengths())
    most = std::max(most, std::abs(static_cast<double>(length) / was - 1));
  return most;
}

const Said* capture_finding(const Answers& answers) {
  for (const Estimated& f : answers.findings)
    if (f.rule == "capture-quality" && f.subject == "lost work") return &f;
  return nullptr;
}

Answers judged(const Analysis& a) { return ask_rules(own_rules(), a, Facts(a), {}, nullptr); }

}  // namespace

TEST_CASE("lost work: steps whose kernels were lost are left out, and the others are judged") {
  const Recording recording{.is_lost = first_five};
  const Analysis a = analysed(recording.trace());
  const DeviceSteps& d = a.devices.front();
  CHECK(a.trace.lost.described == "100 of 240 launches have no kernel");
  CHECK(d.source == StepSource::ranges);
  CHECK(d.levels.front().count == 12);
  // The first step with kernels bounds the next one.
  CHECK(d.lost == 5);
  REQUIRE(d.steps.size() == 6);
  CHECK(d.steps.front().number == 6);
  CHECK(most_off(d, recording) == 0);
  CHECK(a.trace.doubts.empty());

  const Answers answers = judged(a);
  CHECK(answers.clean.size() > 10);
  const Said* said = capture_finding(answers);
  REQUIRE(said);
  CHECK(said->title == "5 of 12 steps are left out: the profiler lost their kernels");
  CHECK(contains(said->text, "100 of 240 launches have no kernel"));
  REQUIRE(!said->advice.empty());
}

TEST_CASE("lost work: nothing is replayed across a step that was left out") {
  const Recording recording{.steps = 5, .is_lost = [](int step, int) { return step == 2; }};
  const Analysis a = analysed(recording.trace());
  CHECK(a.devices.front().lost > 0);
  CHECK(most_off(a.devices.front(), recording) == 0);
  const Replay replay(a);
  if (replay.reason().empty())
    CHECK(replay.recorded_ns() <= recording.step_ns());
  else
    CHECK(replay.reason() == "no two steps without lost work follow each other");
}

TEST_CASE("lost work: steps that no range marks are found among what is left") {
  const Recording recording{.marked = false, .is_lost = first_five};
  const Analysis a = analysed(recording.trace());
  const DeviceSteps& d = a.devices.front();
  CHECK(d.source == StepSource::kernels);
  CHECK(d.whole);
  CHECK(d.steps.size() >= 5);
  CHECK(most_off(d, recording) < 0.02);
  CHECK(a.trace.doubts.empty());
  const Answers answers = judged(a);
  CHECK(answers.clean.size() > 10);
  CHECK(capture_finding(answers));
}

TEST_CASE("lost work: with kernels lost at random, the step is as long as it was") {
  for (const Recording& recording :
       {Recording{.steps = 60, .is_lost = one_of<20>},
        Recording{.steps = 60, .marked = false, .is_lost = one_of<50>}}) {
    CAPTURE(recording.marked);
    const Analysis a = analysed(recording.trace());
    const DeviceSteps& d = a.devices.front();
    CHECK(d.source == (recording.marked ? StepSource::ranges : StepSource::kernels));
    CHECK(d.whole);
    CHECK(d.lost > 10);
    CHECK(d.steps.size() >= 5);
    CHECK(most_off(d, recording) < 0.02);
    CHECK(a.trace.doubts.empty());
  }
}

TEST_CASE("lost work: where most repetitions of launches lack some, what repeats is not known") {
  const Recording recording{.steps = 60, .marked = false, .is_lost = one_of<20>};
  const Analysis a = analysed(recording.trace());
  CHECK(!a.devices.front().whole);
  CHECK(!a.trace.doubts.empty());
  CHECK(judged(a).clean.empty());
}

TEST_CASE("lost work: a step before which the last kernel was lost has no known beginning") {
  const auto last_of_five = [](int step, int launch) { return step == 5 && launch + 1 == 20; };
  const Recording recording{.is_lost = last_of_five};
  const Analysis a = analysed(recording.trace());
  const DeviceSteps& d = a.devices.front();
  CHECK(d.lost == 2);
  for (const Step& step : d.steps) CHECK((step.number != 5 && step.number != 6));
  CHECK(most_off(d, recording) == 0);
  // One launch of 240 is too few for a doubt, had it been in every step.
  CHECK(!a.trace.lost.many);
}

TEST_CASE("lost work: if no step is whole, nothing is clean, and the reason is said") {
  const auto third = [](int, int launch) { return launch % 3 == 1; };
  for (const bool marked : {true, false}) {
    CAPTURE(marked);
    const Analysis a = analysed(Recording{.marked = marked, .is_lost = third}.trace());
    CHECK(!a.devices.front().whole);
    REQUIRE(a.trace.doubts.size() == 1);
    CHECK(a.trace.doubts.front() == "84 of 240 launches have no kernel");
    const Answers answers = judged(a);
    CHECK(answers.clean.empty());
    const Said* said = capture_finding(answers);
    REQUIRE(said);
    CHECK(said->title == "The profiler lost kernels in what is judged");
    for (const Estimated& f : answers.findings) CHECK(f.subject != "reading");
  }
}

TEST_CASE("lost work: what rightly has no kernel is not lost") {
  const auto lost_of = [](const std::string& more) {
    // Tables are given once: the calls of a program without losses are its waits alone.
    const Trace t = trace_from_text(
        "return { ops = { { 10, 20, kernel = 'a' }, { 900, 950, kernel = 'a', launched = { 880, "
        "885 } } }, " +
        more + "}");
    return t.lost.launched.size();
  };
  const char* launch = "{ 100, 105, 'cudaLaunchKernel' },";
  CHECK(lost_of(fmt::format("calls = {{ {} }}", launch)) == 1);
  // Captured into a graph, which is launched later.
  CHECK(lost_of(fmt::format("calls = {{ {{ 90, 95, 'cudaStreamBeginCapture' }}, {} {{ 110, 115, "
                            "'cudaStreamEndCapture' }} }}",
                            launch)) == 0);
  CHECK(lost_of("calls = { { 100, 105, 'cudaLaunchKernel', result = 700 } }") == 0);
  // A copy of no bytes: no call of that function has its copy.
  CHECK(lost_of("calls = { { 100, 105, 'cudaMemcpy' } }") == 0);
  CHECK(lost_of("calls = { { 100, 105, 'cudaGraphLaunch' } }") == 0);
}

TEST_CASE("lost work: where nothing arrived from the GPU, all of it was lost") {
  const Trace t = trace_from_text(
      "return { calls = { { 10, 15, 'cudaLaunchKernel' }, { 20, 25, 'cudaLaunchKernel' } } }");
  CHECK(t.lost.described == "2 of 2 launches have no kernel");
}

TEST_CASE("lost work: a window says all of what begins after the losses") {
  const auto at_first = [](int, int launch) { return launch < 5; };
  const auto later = [](int, int launch) { return launch == 10 || launch == 11; };
  const auto whole = [](bool (*is_lost)(int, int)) {
    const Analysis a = analysed(Recording{.steps = 1, .marked = false, .is_lost = is_lost}.trace());
    CHECK(!a.has_steps());
    return a.devices.front().whole;
  };
  CHECK(whole(at_first));
  CHECK(!whole(later));
}

TEST_CASE("lost work: a graph that is traced as a whole is its launch's work") {
  const Trace t = trace_from_text(
      "return { repeats = { times = 20, every = 1000 }, ops = { { 20, 900, graph = true } } }");
  CHECK(t.lost.launched.empty());
}

TEST_CASE("lost work: nothing is lost where every launch has its kernel") {
  const Analysis a = analysed(Recording{.is_lost = none}.trace());
  CHECK(a.trace.lost.launched.empty());
  CHECK(a.devices.front().lost == 0);
  CHECK(a.devices.front().steps.size() == 11);
  CHECK(!capture_finding(judged(a)));
}
