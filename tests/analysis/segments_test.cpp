// The whole recording: what lies before the steps, the steps, and what lies after them.
#include "analysis/segments.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "read/read.hpp"
#include "report/phrases.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

// Ten steps of 1 ms from 10 ms on, of which the GPU works `busy` us, with what else is given.
Analysis with_steps(const std::string& more, int busy = 800) {
  return {trace_from_text("local ops, calls = {}, {} " + more +
                          R"(
    for i = 0, 10 do
      local at = 10000 + 1000 * i
      ops[#ops + 1] = { at + 10, at + 10 + )" +
                          std::to_string(busy) + R"(, kernel = 'work', launched = { at, at + 5 } }
      calls[#calls + 1] = { at + 900, at + 990, 'cudaDeviceSynchronize' }
    end
    return { ops = ops, calls = calls })"),
          Classes(),
          {}};
}

// Another loop after them: twenty times three operations in 200 us.
constexpr const char* scores_after = R"(
    for i = 0, 19 do
      local at = 22000 + 200 * i
      ops[#ops + 1] = { at, at + 90, kernel = 'score' }
      ops[#ops + 1] = { at + 90, at + 180, kernel = 'rank' }
      ops[#ops + 1] = { at + 180, at + 190, copy = 'd2h', bytes = 64 }
    end)";

// Sums of all that adds up, checked on any report.
void check_sums(const Analysis& a, const Segments& segments) {
  Ns all = 0;
  for (const Segment& s : segments.list) {
    CHECK(s.device_ns == std::accumulate(s.cause_ns.begin(), s.cause_ns.end(), Ns{0}));
    CHECK(s.busy_ns <= s.device_ns);
    all += s.device_ns;
  }
  CHECK(all == segments.recording.length() * static_cast<Ns>(a.devices.size()));
}

}  // namespace

TEST_CASE("segments: what the GPU does before the steps is no start-up, and waiting is") {
  const Analysis idle = with_steps("calls[1] = { 10, 9000, 'cudaMalloc' }");
  Segments segments = segments_of(idle);
  check_sums(idle, segments);
  REQUIRE(segments.list.size() >= 2);
  CHECK(segments.list[0].kind == Segment::Kind::start_up);
  CHECK(segments.list[1].kind == Segment::Kind::steps);
  CHECK(segments.list[1].steps == 10);

  const Analysis busy = with_steps(
      "for i = 1, 9 do ops[i] = { 1000 * i, 1000 * i + 990, kernel = 'encode' .. i } end");
  segments = segments_of(busy);
  check_sums(busy, segments);
  CHECK(segments.list[0].kind == Segment::Kind::before);
  CHECK(segments.list[0].busy_fraction() > 0.9);
  CHECK(contains(outside_text(busy), "before the iterations"));
}

TEST_CASE("segments: a long idle end is said with its share") {
  const Analysis a = with_steps("ops[1] = { 30000, 30010, copy = 'd2h', bytes = 64 }");
  const Segments segments = segments_of(a);
  check_sums(a, segments);
  const Segment& last = segments.list.back();
  CHECK(last.kind == Segment::Kind::after);
  CHECK(last.busy_fraction() < 0.01);
  const std::string text = outside_text(a);
  CAPTURE(text);
  CHECK(contains(text, "after the last iteration 9.20 ms (46 %, GPU busy 0.1 %)"));
}

TEST_CASE(
    "segments: another loop is named with its count, and by place beside a unit of its name") {
  const Analysis a = with_steps(scores_after);
  const Segments segments = segments_of(a);
  REQUIRE(segments.list.back().loop.has_value());
  CHECK(segments.list.back().loop->name == "later iteration");
  CHECK(segments.list.back().loop->count == 20);
  CHECK(contains(outside_text(a), ": 20 later iterations)"));
}

TEST_CASE("segments: --unit has another loop by its name, and lists it") {
  const Analysis whole = with_steps(scores_after);
  const std::vector<std::string> units =
      units_of(whole.trace, whole.classes, whole.names, whole.program, whole.devices);
  CHECK(std::count(units.begin(), units.end(), "later iteration") == 1);
  CHECK(contains(units_text(whole), "'later iteration', window."));

  Selection selection;
  selection.unit = "later iteration";
  const Analysis a(whole.trace, Classes(), selection);
  REQUIRE(a.devices.size() == 1);
  CHECK(a.unit() == "iteration");
  CHECK(a.devices[0].steps.size() >= 18);
  for (const Step& step : a.devices[0].steps) {
    CHECK(step.span.start >= 21'000'000);
    CHECK(step.span.length() == doctest::Approx(200'000).epsilon(0.1));
  }
  selection.unit = "earlier iteration";
  CHECK_THROWS_WITH(Analysis(whole.trace, Classes(), selection),
                    doctest::Contains("these repeat: iteration, later iteration"));
}

TEST_CASE("segments: another loop has its steps on all devices that run it") {
  Selection selection;
  selection.unit = "iteration";
  const auto two = [&](const char* loops) {
    return Analysis(trace_from_text(std::string("local loops = ") + loops + R"(
      local ops, ranges = {}, {}
      for rank = 0, 1 do
        for i = 0, 9 do
          local at = 1000 * i
          ranges[#ranges + 1] = { at, at + 990, 'step ' .. i, rank = rank }
          ops[#ops + 1] = { at + 20, at + 920, kernel = 'work', rank = rank,
                            launched = { at + 5, at + 10 } }
        end
        for i = 0, loops[rank + 1] - 1 do
          local at = 12000 + 200 * i
          ops[#ops + 1] = { at, at + 90, kernel = 'score', rank = rank }
          ops[#ops + 1] = { at + 90, at + 180, kernel = 'rank', rank = rank }
          ops[#ops + 1] = { at + 180, at + 190, copy = 'd2h', bytes = 64, rank = rank }
        end
      end
      return { ops = ops, ranges = ranges })"),
                    Classes(), selection);
  };
  const Analysis both = two("{ 20, 20 }");
  REQUIRE(both.devices.size() == 2);
  for (const DeviceSteps& d : both.devices) {
    CHECK(d.steps.size() >= 18);
    CHECK(d.steps.front().span.start >= 11'000'000);
  }
  CHECK(two("{ 20, 0 }").devices.size() == 1);
}

TEST_CASE("segments: the unit once more, after a pause, is no other loop") {
  const Analysis a = with_steps(R"(
    for i = 0, 9 do
      local at = 60000 + 3000 * i
      ops[#ops + 1] = { at + 10, at + 100, kernel = 'work', launched = { at, at + 5 } }
      calls[#calls + 1] = { at + 2900, at + 2990, 'cudaDeviceSynchronize' }
    end)");
  const Segments segments = segments_of(a);
  CHECK(segments.list.size() >= 2);
  for (const Segment& s : segments.list) CHECK_FALSE(s.loop.has_value());
}

TEST_CASE("segments: pauses outside of the steps that no step has lie between two operations") {
  const Analysis a = with_steps(R"(
    ops[1] = { 26000, 26010, kernel = 'write', launched = { 25990, 25995 } }
    ops[2] = { 26500, 26510, kernel = 'write', launched = { 26490, 26495 } }
    calls[1] = { 40000, 45000, 'cudaFree' })");
  const Segments segments = segments_of(a);
  check_sums(a, segments);
  for (const Segment& s : segments.list)
    if (s.kind != Segment::Kind::after) CHECK(s.long_idle.empty());
  const std::vector<LongIdle>& found = segments.list.back().long_idle;
  REQUIRE(found.size() == 1);  // not the 490 us between both, nor what follows the last
  CHECK(found[0].idle.cause == IdleCause::unknown);
  CHECK(found[0].idle.span.length() > 4'900'000);
  CHECK(found[0].idle.span.end <= 26'000'000);

  // What another loop waits for is its own.
  const Analysis loop = with_steps(R"(
    for i = 0, 7 do
      local at = 25000 + 1500 * i
      ops[#ops + 1] = { at, at + 90, kernel = 'score' }
      ops[#ops + 1] = { at + 90, at + 300, kernel = 'rank' }
      ops[#ops + 1] = { at + 300, at + 310, copy = 'd2h', bytes = 64 }
    end)");
  const Segments of_loop = segments_of(loop);
  REQUIRE(of_loop.list.back().loop.has_value());
  REQUIRE(of_loop.list.back().long_idle.size() == 1);
  CHECK(of_loop.list.back().long_idle[0].idle.span.end <= 25'000'000);
}

TEST_CASE("segments: devices that repeat different units at the same time are told apart") {
  const auto two = [](const std::string& unit, const std::string& every) {
    return analysed("local unit, every = '" + unit + "', " + every + R"(
      local ops, ranges = {}, {}
      for at = 0, 9999, 1000 do
        ranges[#ranges + 1] = { at, at + 990, 'step ' .. at // 1000 }
        ops[#ops + 1] = { at + 20, at + 920, kernel = 'work', launched = { at + 5, at + 10 } }
      end
      for at = 0, 9999, every do
        ranges[#ranges + 1] = { at, at + every - 10, unit .. ' ' .. at // every, rank = 1 }
        ops[#ops + 1] = { at + 20, at + 170, kernel = 'draw', rank = 1,
                          launched = { at + 5, at + 10 } }
      end
      return { ops = ops, ranges = ranges })");
  };
  const Analysis a = two("frame", "500");
  REQUIRE(a.devices.size() == 2);
  const Segments segments = segments_of(a);
  const auto steps = std::find_if(segments.list.begin(), segments.list.end(),
                                  [](const auto& s) { return s.kind == Segment::Kind::steps; });
  REQUIRE(steps != segments.list.end());
  REQUIRE(steps->units.size() == 2);
  CHECK(steps->units[0].unit.name == "step");
  CHECK(steps->units[1].unit.name == "frame");
  CHECK(steps->units[0].unit.count == steps->steps);
  CHECK(steps->units[0].busy_ns > 2 * steps->units[1].busy_ns);
  const std::string text = different_units_text(a);
  CAPTURE(text);
  CHECK(contains(text, "The GPUs repeat different units: "));
  CHECK(contains(text, " frames (25 % of the work)."));

  const Analysis same = two("step", "500");
  CHECK(different_units_text(same).empty());
  for (const Segment& s : segments_of(same).list) CHECK(s.units.empty());

  // As many steps at a time are the same loop, whatever they are called.
  const Analysis renamed = two("frame", "1000");
  REQUIRE(renamed.devices.size() == 2);
  CHECK(renamed.devices[0].levels.front().name != renamed.devices[1].levels.front().name);
  CHECK(different_units_text(renamed).empty());
}

TEST_CASE("segments: steps that the user selected leave the rest out on purpose") {
  Selection selection;
  selection.steps = {2, 4};
  const Analysis a(trace_from_text("return { repeats = { times = 9, every = 1000 }, ranges = { { "
                                   "0, 900, 'step {n}' } }, ops = { { 20, 880, kernel = 'a' } } }"),
                   Classes(), selection);
  CHECK(segments_of(a).list.empty());
  CHECK(outside_text(a).empty());
}

TEST_CASE("segments: those of every recording adjoin and add up") {
  for (const auto& path : few_with_sanitizers(recordings())) {
    CAPTURE(path);
    const Analysis a(read_report(path), Classes(), {});
    const Segments segments = segments_of(a);
    check_sums(a, segments);
    double fraction = 0;
    for (const Segment& s : segments.list)
      if (s.kind != Segment::Kind::steps) fraction += segments.fraction(s);
    CHECK(fraction == doctest::Approx(fraction_outside(a)));
  }
}
