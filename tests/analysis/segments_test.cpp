// The whole recording: what lies before the steps, the steps, and what lies after them.
#include "analysis/segments.hpp"

#include <doctest/doctest.h>

#include <numeric>

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

TEST_CASE("segments: another loop is named with its count") {
  const Analysis a = with_steps(R"(
    for i = 0, 19 do
      local at = 22000 + 200 * i
      ops[#ops + 1] = { at, at + 90, kernel = 'score' }
      ops[#ops + 1] = { at + 90, at + 180, kernel = 'rank' }
      ops[#ops + 1] = { at + 180, at + 190, copy = 'd2h', bytes = 64 }
    end)");
  const Segments segments = segments_of(a);
  REQUIRE(segments.list.back().loop.has_value());
  CHECK(segments.list.back().loop->count == 20);
  CHECK(contains(outside_text(a), ": 20 iterations)"));
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
