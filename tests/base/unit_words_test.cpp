// What reports call one repetition of a program.
#include "base/unit_words.hpp"

#include <doctest/doctest.h>

TEST_CASE("unit words: sentences get the form that they need of any name") {
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

TEST_CASE("unit words: of a window there is one, and amounts are told in all") {
  const gh::UnitWords window(gh::window_unit);
  CHECK(window.is_window());
  CHECK(window.a == "the window");
  CHECK(window.per == "in all");
  CHECK(gh::capitalized("a token") == "A token");
  CHECK(gh::capitalized("") == "");
}
