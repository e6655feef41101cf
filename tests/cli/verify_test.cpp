// What became of a forecast.
#include <doctest/doctest.h>

#include "record/ledger.hpp"

using namespace gh;

TEST_CASE("verify: a step outside of the predicted range is missed, on either side") {
  constexpr Ns least = 40'800'000, most = 46'000'000;
  CHECK(outcome_of(43'400'000, least, most) == Outcome::held);
  CHECK(outcome_of(least, least, most) == Outcome::held);
  CHECK(outcome_of(most, least, most) == Outcome::held);
  CHECK(outcome_of(28'500'000, least, most) == Outcome::missed);
  CHECK(outcome_of(46'000'001, least, most) == Outcome::missed);
}
