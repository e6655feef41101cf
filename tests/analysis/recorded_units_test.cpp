// Recordings of fixtures/record/units.py, whose units are known: without ranges that mark them, but
// for the layers of one.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <tuple>

#include "analysis/segments.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

Analysis recorded_unit(const std::string& name) {
  return {recorded("unit-" + name), Classes(), {}};
}

// "8 training steps of 6 layers": all that the recording contains, the first and the last too.
std::string repeated_in(const Analysis& a, std::size_t device = 0) {
  std::string text;
  for (const UnitLevel& level : a.devices[device].levels)
    text += (text.empty() ? "" : " of ") + plural(level.count, level.name);
  return text;
}

const Segment* last_segment(const Segments& segments) { return &segments.list.back(); }

}  // namespace

TEST_CASE("recorded units: an update closes the unit of its micro-batches, on both ranks") {
  const Analysis a = recorded_unit("accumulation");
  REQUIRE(a.devices.size() == 2);
  CHECK(repeated_in(a) == "6 training steps of 4 micro-batches of 4 layers");
  CHECK(a.repeats() == "5 training steps of 4 micro-batches, 4 layers each on 2 devices");
  CHECK(a.devices[0].steps.size() == a.devices[1].steps.size());
}

TEST_CASE("recorded units: to warm up is no other loop") {
  for (const char* name : {"accumulation", "size-sweep"}) {
    CAPTURE(name);
    for (const Segment& s : segments_of(recorded_unit(name)).list) CHECK_FALSE(s.loop.has_value());
  }
}

TEST_CASE("recorded units: sharded layers are no steps, with ranges that mark them and without") {
  for (const char* name : {"fsdp-layers", "fsdp-layers-marked"}) {
    CAPTURE(name);
    const Analysis a = recorded_unit(name);
    REQUIRE(a.devices.size() == 2);
    CHECK(a.unit() == "training step");
    CHECK(contains(repeated_in(a), "8 training steps of 6 layers"));
  }
}

TEST_CASE("recorded units: steps of one rank that are start-up are judged on none") {
  // Rank 0 enters its second step 123 ms late, and rank 1 waits for it in a step of 177 ms.
  const Analysis a = recorded_unit("fsdp-layers-marked");
  REQUIRE(a.devices.size() == 2);
  for (const Ns length : a.step_lengths()) CHECK(length < 70'000'000);
  // The recording ends within a step of rank 1.
  CHECK(a.devices[0].steps.size() == 5);
  CHECK(a.devices[1].steps.size() == 5);
}

TEST_CASE("recorded units: a token of a server is the unit, whatever its requests are") {
  const Analysis a = recorded_unit("continuous-batching");
  CHECK(a.recorded_step_ns() > 2'000'000);
  CHECK(a.recorded_step_ns() < 4'000'000);
  CHECK(a.devices[0].steps.size() > 100);
}

TEST_CASE("recorded units: of a sweep of sizes one is judged") {
  const Analysis a = recorded_unit("size-sweep");
  CHECK(a.devices[0].steps.size() == 1);
  CHECK(contains(a.devices[0].described, "which grow: the largest of"));
  // The last one, from its uploads of 1 GiB each to the copy of its sum.
  std::int64_t uploaded = 0;
  a.each_op_in_steps(0, [&](Row op) {
    if (a.trace.ops.copy[op] == CopyKind::h2d) uploaded += a.trace.ops.bytes[op];
  });
  CHECK(uploaded == std::int64_t{2} << 30);
  CHECK(a.trace.ops.end[a.devices[0].ops.back()] == a.devices[0].steps.front().span.end);
}

TEST_CASE("recorded units: two loops that share the GPU have each their share, and its name") {
  for (const auto& [name, least, most] : {std::tuple{"trained-beside-tokens", 0.2, 0.4},
                                          std::tuple{"trained-beside-a-process", 0.1, 0.25}}) {
    CAPTURE(name);
    const Analysis a = recorded_unit(name);
    CHECK(contains(repeated_in(a), "40 training steps of 4 layers"));
    const Segments segments = segments_of(a);
    const auto steps =
        std::find_if(segments.list.begin(), segments.list.end(),
                     [](const Segment& s) { return s.kind == Segment::Kind::steps; });
    REQUIRE(steps != segments.list.end());
    REQUIRE(steps->units.size() == 2);
    CHECK(steps->units[0].unit.name == "training step");
    CHECK(steps->units[1].unit.name == "batch");
    CHECK(steps->units[1].unit.count > 4 * steps->steps);
    const double share = static_cast<double>(steps->units[1].busy_ns) /
                         static_cast<double>(steps->units[0].busy_ns + steps->units[1].busy_ns);
    CHECK(share > least);
    CHECK(share < most);

    // Judged by itself, its batches are cut where their own work ends.
    Selection batches;
    batches.unit = "batch";
    const Analysis other(recorded("unit-" + std::string(name)), Classes(), batches);
    CHECK(other.unit() == "batch");
    CHECK(other.step_count() > steps->units[1].unit.count - 4);
    CHECK(other.recorded_step_ns() < a.recorded_step_ns() / 3);
  }
}

TEST_CASE("recorded units: batches that another thread prepares on the GPU are of the steps") {
  const Analysis a = recorded_unit("augmented-beside");
  CHECK(contains(repeated_in(a), "40 training steps of 4 layers"));
  for (const Segment& s : segments_of(a).list) {
    CHECK(s.units.empty());
    CHECK_FALSE(s.loop.has_value());
  }
}

TEST_CASE("recorded units: a second loop is named beside the first") {
  const Analysis a = recorded_unit("train-then-generate");
  CHECK(contains(repeated_in(a), "10 training steps of 4 layers"));
  const Segments segments = segments_of(a);
  REQUIRE(last_segment(segments)->loop.has_value());
  CHECK(last_segment(segments)->loop->name == "batch");
  CHECK(last_segment(segments)->loop->count == 40);
}

TEST_CASE("recorded units: validation between epochs leaves the step the unit") {
  const Analysis a = recorded_unit("validated-epochs");
  CHECK(a.unit() == "training step");
  CHECK(a.devices[0].steps.size() >= 21);
  CHECK(a.recorded_step_ns() < 11'000'000);
}

TEST_CASE("recorded units: a long idle end is a segment of its own") {
  const Analysis a = recorded_unit("idle-tail");
  CHECK(contains(repeated_in(a), "8 training steps of 4 layers"));
  const Segments segments = segments_of(a);
  CHECK(last_segment(segments)->kind == Segment::Kind::after);
  CHECK(last_segment(segments)->device_ns > 150'000'000);
  CHECK(last_segment(segments)->busy_fraction() < 0.01);
}
