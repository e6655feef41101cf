// What comes in every n-th step only: literal sequences of step lengths, and recordings of programs
// that are known.
#include "analysis/structure/periodic_events.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"
#include "report/phrases.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

std::optional<RegularSteps> regular_in(const std::vector<Ns>& lengths) {
  return find_regular(lengths, std::vector<bool>(lengths.size(), false));
}

// Steps of 1 ms that differ by a tenth of it; each step for which is_long(n) holds takes 1 ms more.
template <class IsLong>
std::vector<Ns> noisy_lengths(std::size_t count, std::mt19937& random, IsLong is_long) {
  std::uniform_int_distribution<Ns> noise(0, 100'000);
  std::vector<Ns> ns;
  for (std::size_t n = 0; n < count; ++n)
    ns.push_back(1'000'000 + noise(random) + (is_long(n) ? 1'000'000 : 0));
  return ns;
}

Analysis program_recorded_as(const std::string& name) {
  return {recorded("unit-" + name), Classes(), {}};
}

}  // namespace

TEST_CASE("periodic events: whatever the period, the first one and the noise, it is found") {
  std::mt19937 random(1);
  for (int turn = 0; turn < 200; ++turn) {
    CAPTURE(turn);
    const std::size_t every = 2 + random() % 40, first = random() % every;
    const std::size_t count = 5 * every + random() % 100;
    const auto found =
        regular_in(noisy_lengths(count, random, [&](std::size_t n) { return n % every == first; }));
    REQUIRE(found);
    CHECK(found->every == every);
    CHECK(found->steps.size() == (count - first + every - 1) / every);
    CHECK(found->steps.front() == first);
  }
}

TEST_CASE("periodic events: a queue may drift a little where its events are far apart") {
  std::mt19937 random(2);
  const std::vector<std::size_t> places{31, 64, 95, 128, 160, 191};
  const auto found = regular_in(noisy_lengths(220, random, [&](std::size_t n) {
    return std::find(places.begin(), places.end(), n) != places.end();
  }));
  REQUIRE(found);
  CHECK(found->steps == places);
}

TEST_CASE("periodic events: of many steps the first thousand tell the period, and all are listed") {
  std::mt19937 random(3);
  const auto found =
      regular_in(noisy_lengths(5000, random, [](std::size_t n) { return n % 50 == 7; }));
  REQUIRE(found);
  CHECK(found->every == 50);
  CHECK(found->steps.size() == 100);
}

TEST_CASE("periodic events: pauses at random have no period") {
  std::mt19937 random(4);
  int claimed = 0;
  constexpr int turns = 500;
  for (int turn = 0; turn < turns; ++turn) {
    const std::size_t count = 10 + random() % 200;
    const std::size_t share = 3 + random() % 20;
    claimed += regular_in(noisy_lengths(count, random, [&](std::size_t) {
                 return random() % share == 0;
               })).has_value();
  }
  // One recording of fifty for each number of long steps that is tried; they depend on each other.
  CHECK(claimed < turns / 20);
}

TEST_CASE("periodic events: too few steps show no period") {
  std::mt19937 random(5);
  CHECK_FALSE(regular_in(noisy_lengths(9, random, [](std::size_t n) { return n % 4 == 0; })));
  CHECK_FALSE(
      regular_in(noisy_lengths(20, random, [](std::size_t n) { return n == 5 || n == 15; })));
  CHECK_FALSE(regular_in({}));
}

TEST_CASE("periodic events: period, cost and owner of those of recorded programs") {
  const Analysis queue = program_recorded_as("queue-runs-dry");
  REQUIRE(queue.periodic_events().size() == 1);
  const PeriodicEvent& dry = queue.periodic_events().front();
  CHECK(dry.every == 8);
  CHECK(dry.count == 4);
  CHECK(queue.account.causes[dry.cause] == "idle.input");
  CHECK(dry.extra_ns == doctest::Approx(42e6).epsilon(0.05));  // the thread sleeps for 40 ms
  CHECK(dry.cost_ns == doctest::Approx(dry.extra_ns * 4 / 39));
  CHECK(queue.trace.names[dry.doing] == "sem_wait");
  CHECK(contains(periodic_texts(queue).front(), "Every 8th step takes 42.3 ms longer"));

  const Analysis collected = program_recorded_as("collected");
  REQUIRE(collected.periodic_events().size() == 1);
  CHECK(collected.periodic_events().front().every == 12);
  CHECK(collected.account.causes[collected.periodic_events().front().cause] == "idle.unknown");
}

TEST_CASE("periodic events: two at once are told apart") {
  const Analysis a = program_recorded_as("now-and-then");
  REQUIRE(a.periodic_events().size() == 2);
  CHECK(a.periodic_events()[0].every == 10);
  CHECK(a.account.causes[a.periodic_events()[0].cause] == "idle.unknown");
  CHECK(a.periodic_events()[1].every == 20);
  CHECK(a.account.kinds[a.periodic_events()[1].cause].computes());
}

TEST_CASE("periodic events: a program that pauses at no distance has none") {
  CHECK(program_recorded_as("pauses-at-random").periodic_events().empty());
}

TEST_CASE("periodic events: the same on two devices is one, and is told once") {
  // Each fifth step waits on both devices.
  const Analysis a(trace_from_text(R"(
    local ops, ranges, at = {}, {}, 0
    for i = 1, 60 do
      local takes = i % 5 == 0 and 3000 or 1000
      for device = 0, 1 do
        ops[#ops + 1] = { at + takes - 900, at + takes - 10, kernel = 'train', gpu = device,
          launched = { at + takes - 950 + device, at + takes - 940 + device } }
      end
      ranges[#ranges + 1] = { at, at + takes - 10, 'step ' .. i }
      at = at + takes
    end
    return { ops = ops, ranges = ranges })"),
                   Classes(), {});
  REQUIRE(a.devices.size() == 2);
  REQUIRE(a.periodic_events().size() == 1);
  CHECK(a.periodic_events().front().every == 5);
  CHECK(a.periodic_events().front().places.size() ==
        2 * static_cast<std::size_t>(a.periodic_events().front().count));
}

TEST_CASE("periodic events: one that reaches into the next step is one, also over a period's end") {
  // Two steps of eight are long, of which the first lies at a period's end: 0, 7, 8, 15, ...
  const Analysis a(trace_from_text(R"(
    local ops, ranges, at = {}, {}, 0
    for i = 0, 64 do
      local takes = (i % 8 == 0 and 2000) or (i % 8 == 1 and 3000) or 1000
      ops[#ops + 1] = { at + takes - 900, at + takes - 10, kernel = 'train',
        launched = { at + takes - 950, at + takes - 940 } }
      ranges[#ranges + 1] = { at, at + takes - 10, 'step ' .. i }
      at = at + takes
    end
    return { ops = ops, ranges = ranges })"),
                   Classes(), {});
  REQUIRE(a.periodic_events().size() == 1);
  CHECK(a.periodic_events().front().every == 8);
  CHECK(a.periodic_events().front().extra_ns ==
        doctest::Approx(3e6).epsilon(0.05));  // one may be cut off
}

TEST_CASE("periodic events: the range that launches the extra work owns it") {
  const Analysis a(trace_from_text(R"(
    local ops, ranges, at = {}, {}, 0
    for i = 1, 30 do
      ops[#ops + 1] = { at + 20, at + 900, kernel = 'train', launched = { at + 5, at + 10 } }
      ranges[#ranges + 1] = { at, at + 990, 'step ' .. i }
      at = at + 1000
      if i % 5 == 0 then
        ranges[#ranges][2] = at + 600
        ops[#ops + 1] = { at, at + 600, kernel = 'train', launched = { at - 30, at - 25 } }
        ranges[#ranges + 1] = { at - 40, at - 10, 'validate' }
        at = at + 610
      end
    end
    return { ops = ops, ranges = ranges })"),
                   Classes(), {});
  REQUIRE(a.periodic_events().size() == 1);
  const PeriodicEvent& event = a.periodic_events().front();
  CHECK(event.every == 5);
  CHECK(a.trace.names[event.doing] == "validate");
}
