// What sampled metrics show.
#include "analysis/metrics.hpp"

#include <doctest/doctest.h>

#include "support/traces.hpp"

using namespace gh;
using namespace support;

namespace {

constexpr Ns us = 1000;

SampledCurve curve(const std::string& samples) {
  const Analysis a(trace_from_text("return { ops = { { 0, 100, kernel = 'k' } }, samples = { " +
                                   samples + " } }"),
                   Classes(), {});
  return {a, "sm_active"};
}

}  // namespace

TEST_CASE("metrics: a sample covers the time since the one before") {
  const SampledCurve c = curve(
      "{ 10, 'SMs Active [Throughput %]', 0 }, { 20, 'SMs Active [Throughput %]', 100 }, { 40, "
      "'SMs Active [Throughput %]', 50 }");
  const auto mean = [&](Ns start, Ns end) {
    return c.over(0, {start * us, end * us}).mean().value();
  };
  CHECK(mean(10, 20) == doctest::Approx(1.0));
  CHECK(mean(20, 40) == doctest::Approx(0.5));
  CHECK(mean(15, 25) == doctest::Approx(0.75));
  CHECK(mean(10, 40) == doctest::Approx(20.0 / 30));
  // Time that no sample covers does not count.
  CHECK(c.over(0, {0 * us, 20 * us}).sampled_ns == 10 * us);
  CHECK(c.over(0, {30 * us, 90 * us}).sampled_ns == 10 * us);
  CHECK(c.over(0, {0 * us, 10 * us}).sampled_ns == 0);
  CHECK(c.over(0, {40 * us, 90 * us}).sampled_ns == 0);
}

TEST_CASE("metrics: there is no curve without samples of that metric, or from a single one") {
  CHECK(curve("").over(0, {0, 100 * us}).sampled_ns == 0);
  CHECK(curve("{ 10, 'DRAM Read Bandwidth [Throughput %]', 50 }, { 20, 'DRAM Read Bandwidth "
              "[Throughput %]', 50 }")
            .over(0, {0, 100 * us})
            .sampled_ns == 0);
  CHECK(curve("{ 10, 'SMs Active [Throughput %]', 50 }").over(0, {0, 100 * us}).sampled_ns == 0);
}
