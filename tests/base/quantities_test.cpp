// Numbers with units, as people read them.
#include <doctest/doctest.h>

#include "base/text.hpp"

using namespace std::string_literals;

TEST_CASE("units: durations, bytes and shares are formatted for people") {
  const std::vector<std::pair<gh::Ns, const char*>> durations{{0, "0 ns"},
                                                              {999, "999 ns"},
                                                              {1000, "1.00 us"},
                                                              {9994, "9.99 us"},
                                                              {9996, "10.0 us"},
                                                              {12'400, "12.4 us"},
                                                              {999'900, "999.9 us"},
                                                              {999'960, "1.00 ms"},
                                                              {160'300'000, "160.3 ms"},
                                                              {1'824'000'000, "1824 ms"},
                                                              {9'999'400'000, "9999 ms"},
                                                              {9'999'600'000, "10.0 s"},
                                                              {3'600'000'000'000, "3600 s"},
                                                              {-5'000'000, "-5.00 ms"}};
  for (const auto& [ns, text] : durations) CHECK(gh::duration(ns) == text);
  const std::vector<std::pair<double, const char*>> sizes{{0, "0 B"},
                                                          {1023, "1023 B"},
                                                          {65536, "64 KiB"},
                                                          {1536, "1.5 KiB"},
                                                          {1.3 * (1 << 30), "1.3 GiB"},
                                                          {141.0 * (1 << 30), "141 GiB"},
                                                          {5e15, "4547 TiB"}};
  for (const auto& [bytes, text] : sizes) CHECK(gh::bytes_text(bytes) == text);
  const std::vector<std::pair<double, const char*>> shares{
      {0, "0 %"},        {0.0004, "below 0.1 %"}, {0.003, "0.3 %"}, {0.042, "4.2 %"},
      {0.0994, "9.9 %"}, {0.0996, "10 %"},        {0.71, "71 %"},   {1, "100 %"}};
  for (const auto& [fraction, text] : shares) CHECK(gh::percent(fraction) == text);
}

TEST_CASE("units: only a number followed by a unit is read as a duration") {
  for (const char* text : {"16.5ms", "16.5 ms", "0.0165s", "16500us", "16500µs", "16500000ns"})
    CHECK_MESSAGE(gh::parsed_duration(text) == 16'500'000, text);
  for (const char* text : {"", "ms", "16.5", "16.5 m", "16.5MS", " 16.5ms", "16.5ms ", "-1ms",
                           "+1ms", "0ms", "0.4ns", "inf s", "nan s", "1e300s", "0x10ms", "1,5ms"})
    CHECK_MESSAGE(!gh::parsed_duration(text), text);
}
