// How reports name the unit that a program repeats.
#include "base/unit_words.hpp"

#include <doctest/doctest.h>

TEST_CASE("unit words: any unit's name gets the forms that sentences need") {
  const gh::UnitWords step("training step");
  CHECK(step.name == "training step");
  CHECK(step.noun == "step");
  CHECK(step.many == "steps");
  CHECK(step.a == "a step");
  CHECK(step.per == "a step");
  CHECK_FALSE(step.is_window());
  const gh::UnitWords iteration("iteration"), batch("batch");
  CHECK(iteration.a == "an iteration");
  CHECK(iteration.per == "an iteration");
  CHECK(batch.many == "batches");
}

TEST_CASE("unit words: there is only one window, so amounts are given in all") {
  const gh::UnitWords window(gh::window_unit);
  CHECK(window.is_window());
  CHECK(window.a == "the window");
  CHECK(window.per == "in all");
  CHECK(gh::capitalized("a token") == "A token");
  CHECK(gh::capitalized("") == "");
}
