// Compares sets of time with a bitmap of every nanosecond, on random input with fixed seeds.
#include "base/spans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

using gh::Ns;
using gh::Span;
using gh::Spans;

namespace doctest {
template <>
struct StringMaker<Spans> {
  static String convert(const Spans& spans) {
    std::string s;
    for (const Span x : spans)
      s += "[" + std::to_string(x.start) + "," + std::to_string(x.end) + ") ";
    return s.c_str();
  }
};
}  // namespace doctest

namespace {

constexpr Ns width = 200;
using Bits = std::array<bool, width>;

Bits bits(const std::vector<Span>& spans) {
  Bits b{};
  for (const Span s : spans)
    for (Ns t = s.start; t < s.end; ++t) b[static_cast<std::size_t>(t)] = true;
  return b;
}

// The only set of time that covers exactly these bits.
Spans spans_of(const Bits& b) {
  Spans out;
  for (Ns t = 0; t < width; ++t) {
    if (!b[static_cast<std::size_t>(t)]) continue;
    if (out.empty() || out.back().end != t) out.push_back({t, t});
    out.back().end = t + 1;
  }
  return out;
}

template <class Combine>
Spans combined(const Spans& a, const Spans& b, Combine keep) {
  const Bits x = bits(a), y = bits(b);
  Bits both{};
  for (std::size_t t = 0; t < both.size(); ++t) both[t] = keep(x[t], y[t]);
  return spans_of(both);
}

// Spans in any order, including overlapping, touching and empty ones; sometimes sorted already.
std::vector<Span> random_spans(std::mt19937& random) {
  std::vector<Span> spans(random() % 20);
  for (Span& s : spans) {
    s.start = static_cast<Ns>(random() % width);
    s.end = std::min<Ns>(width, s.start + static_cast<Ns>(random() % (random() % 4 ? 12 : 60)));
  }
  if (random() % 3 == 0)
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.start < b.start; });
  return spans;
}

}  // namespace

TEST_CASE("spans: sets of time agree with a bitmap") {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const std::vector<Span> raw_a = random_spans(random), raw_b = random_spans(random);
    const Spans a = gh::united(raw_a), b = gh::united(raw_b);
    REQUIRE(a == spans_of(bits(raw_a)));
    REQUIRE(b == spans_of(bits(raw_b)));
    const Spans both = combined(a, b, [](bool x, bool y) { return x && y; });
    REQUIRE(gh::intersection(a, b) == both);
    REQUIRE(gh::difference(a, b) == combined(a, b, [](bool x, bool y) { return x && !y; }));
    REQUIRE(gh::overlap(a, b) == gh::total(both));
    const Bits covered = bits(a);
    REQUIRE(gh::total(a) == std::count(covered.begin(), covered.end(), true));
    const auto from = static_cast<Ns>(random() % width);
    const Span span{from,
                    from + static_cast<Ns>(random() % static_cast<unsigned>(width - from + 1))};
    REQUIRE(gh::overlap(a, span) ==
            gh::total(combined(a, gh::united({span}), [](bool x, bool y) { return x && y; })));
  }
}

TEST_CASE("spans: an empty set behaves like any other") {
  const Spans some{{2, 4}, {6, 9}};
  CHECK(gh::united({}).empty());
  CHECK(gh::united({{5, 5}, {7, 7}}).empty());
  CHECK(gh::intersection(some, {}).empty());
  CHECK(gh::difference({}, some).empty());
  CHECK(gh::difference(some, {}) == some);
  CHECK(gh::total({}) == 0);
  CHECK(gh::overlap({}, some) == 0);
  CHECK(gh::overlap(some, Span{4, 6}) == 0);
}

TEST_CASE("spans: the median is the middle of the sorted values") {
  std::mt19937 random(2);
  CHECK(gh::median({}) == 0);
  for (int round = 0; round < 500; ++round) {
    std::vector<Ns> values(1 + random() % 30);
    for (Ns& v : values) v = static_cast<Ns>(random() % 1000) - 500;
    std::vector<Ns> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t n = sorted.size();
    const Ns low = sorted[(n - 1) / 2], high = sorted[n / 2];
    const Ns median = gh::median(values);
    REQUIRE(2 * median <= low + high + 1);
    REQUIRE(2 * median >= low + high - 1);
    if (n % 2) REQUIRE(median == low);
  }
  // Times near the end of their range do not overflow.
  constexpr Ns most = std::numeric_limits<Ns>::max();
  CHECK(gh::median({most, most - 2}) == most - 1);
}
