// Numbers in texts.
#include "base/numbers.hpp"

#include <doctest/doctest.h>

#include <cstdint>

TEST_CASE("numbers: the whole text is one, or it is none") {
  CHECK(gh::number_in<std::uint32_t>("0120") == 120);
  CHECK(gh::number_in<std::int64_t>("-5") == -5);
  CHECK(gh::number_in<double>("1.5e3") == 1500);
  for (const char* text : {"", " 1", "1 ", "1x", "x", "-1", "+1", "0x1", "4294967296", "1.5"}) {
    CAPTURE(text);
    CHECK(!gh::number_in<std::uint32_t>(text));
  }
}
