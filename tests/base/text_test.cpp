// Text that people read: foreign bytes made harmless, units, suggestions, patterns.
#include "base/text.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

using gh::Error;
using namespace std::string_literals;

TEST_CASE("what turns the text around is taken out") {
  CHECK(gh::printable("a\u202Eb\u2066c\u200Fd\u2030e") == "a b c d\u2030e");
}

TEST_CASE("printable keeps good UTF-8 and nothing else") {
  CHECK(gh::printable("step 12, Größe, 訓練, 🚀") == "step 12, Größe, 訓練, 🚀");
  CHECK(gh::printable("") == "");
  // Controls, terminal escapes (in seven and in eight bits) and NUL become a space each.
  CHECK(gh::printable("a\tb\nc\r\x7F"s) == "a b c  ");
  CHECK(gh::printable("\x1B[31mred\x1B]0;title\a"s) == " [31mred ]0;title ");
  CHECK(gh::printable("\xC2\x9B"
                      "31m"s) == " 31m");
  CHECK(gh::printable("a\0b"s) == "a b");
  // Bytes that are no UTF-8: stray tails, cut sequences, overlong forms, surrogates, beyond
  // Unicode.
  CHECK(gh::printable("\x80") == "\uFFFD");
  CHECK(gh::printable("a\xC3") == "a\uFFFD");
  CHECK(gh::printable("\xE2\x82z") == "\uFFFD\uFFFDz");
  CHECK(gh::printable("\xC0\xAF") == "\uFFFD\uFFFD");
  CHECK(gh::printable("\xE0\x80\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(gh::printable("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(gh::printable("\xF0\x80\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(gh::printable("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(gh::printable("\xFF\xFE") == "\uFFFD\uFFFD");
}

TEST_CASE("printable leaves printable text alone, whatever it is given") {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string once = gh::printable(bytes);
    REQUIRE(gh::printable(once) == once);
    for (const char c : once) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
  }
}

TEST_CASE("shortened keeps both ends, whole characters, and the width") {
  CHECK(gh::shortened("short", 10) == "short");
  CHECK(gh::shortened("exactly 10", 10) == "exactly 10");
  const std::string kernel = "void at::native::elementwise_kernel<128, 4>(int)";
  const std::string cut = gh::shortened(kernel, 20);
  CHECK(gh::display_width(cut) == 20);
  CHECK(cut.starts_with("void at::na"));
  CHECK(cut.ends_with("..." + kernel.substr(kernel.size() - 6)));
  for (std::size_t width = 8; width < 60; ++width) {
    std::string text;
    for (int i = 0; i < 50; ++i) text += i % 3 == 0 ? "é" : i % 3 == 1 ? "訓" : "x";
    const std::string s = gh::shortened(text, width);
    CHECK(gh::display_width(s) <= width);
    CHECK(gh::display_width(s) + 1 >= std::min<std::size_t>(width, 50));
    CHECK(gh::printable(s) == s);
  }
}

TEST_CASE("durations, bytes and shares read as people write them") {
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
      {0, "0.0 %"},     {0.003, "0.3 %"}, {0.042, "4.2 %"}, {0.0994, "9.9 %"},
      {0.0996, "10 %"}, {0.71, "71 %"},   {1, "100 %"}};
  for (const auto& [fraction, text] : shares) CHECK(gh::percent(fraction) == text);
}

TEST_CASE("a near miss is suggested, a stranger is not") {
  const std::vector<std::string> rules{"data-loader-starvation", "offload-sync-gap",
                                       "unfused-softmax"};
  CHECK(gh::did_you_mean("data-loader-starvaton", rules) ==
        " (did you mean 'data-loader-starvation'?)");
  CHECK(gh::did_you_mean("ofload-sync-gap", rules) == " (did you mean 'offload-sync-gap'?)");
  CHECK(gh::did_you_mean("unfsued-softmax", rules) == " (did you mean 'unfused-softmax'?)");
  CHECK(gh::did_you_mean("completely different", rules) == "");
  CHECK(gh::did_you_mean("data-loader", rules) == " (did you mean 'data-loader-starvation'?)");
  CHECK(gh::did_you_mean("first", {"first-long-word", "first-longer-word"}) == "");
  CHECK(gh::did_you_mean("x", {"y"}) == "");
  CHECK(gh::did_you_mean("anything", {}) == "");
  CHECK(gh::did_you_mean(std::string(100'000, 'a'), rules) ==
        "");  // looks at 64 characters, or this would take an hour
}

TEST_CASE("globs") {
  const auto check = [](const char* pattern, const char* text, bool matches) {
    CAPTURE(pattern);
    CAPTURE(text);
    CHECK(gh::glob_match(pattern, text) == matches);
  };
  check("step *", "step 12", true);
  check("step *", "a step 12", false);
  check("*", "", true);
  check("", "", true);
  check("", "x", false);
  check("?", "", false);
  check("?", "x", true);
  check("a?c", "abc", true);
  check("a?c", "ac", false);
  check("*a*b", "xaxb", true);
  check("*a*b", "xbxa", false);
  check("**", "anything", true);
  check("gemm_*", "gemm_", true);
  check("a*a", "a", false);
  check("a*a", "aa", true);
  check("[ab]", "a", false);
  check("[ab]", "[ab]", true);
  check("a.c", "abc", false);
  check("A", "a", false);
}

TEST_CASE("globs agree with the obvious recursion") {
  const std::function<bool(std::string_view, std::string_view)> obvious =
      [&](std::string_view p, std::string_view t) -> bool {
    if (p.empty()) return t.empty();
    if (p[0] == '*') return obvious(p.substr(1), t) || (!t.empty() && obvious(p, t.substr(1)));
    return !t.empty() && (p[0] == '?' || p[0] == t[0]) && obvious(p.substr(1), t.substr(1));
  };
  std::mt19937 random(4);
  for (int round = 0; round < 20'000; ++round) {
    std::string pattern(random() % 7, ' '), text(random() % 9, ' ');
    for (char& c : pattern) c = "ab*?"[random() % 4];
    for (char& c : text) c = "ab"[random() % 2];
    CAPTURE(pattern);
    CAPTURE(text);
    REQUIRE(gh::glob_match(pattern, text) == obvious(pattern, text));
  }
}

TEST_CASE("no glob takes for ever") {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "a*";
  CHECK_FALSE(gh::glob_match(pattern + "b", std::string(20'000, 'a')));
}

TEST_CASE("patterns match anywhere and in either case, and say what is wrong with them") {
  const gh::Patterns patterns({"^nccl", "flash_?attn"}, "schemas/kernels.toml");
  CHECK(patterns.match("ncclDevKernel_AllReduce"));
  CHECK(patterns.match("void FLASHATTN::fwd()"));
  CHECK_FALSE(patterns.match("my_nccl"));
  CHECK_FALSE(gh::Patterns().match("anything"));
  CHECK(gh::Patterns().empty());
  CHECK_THROWS_WITH_AS(gh::Patterns({"good", "(bad"}, "gh-advise.toml"),
                       doctest::Contains("gh-advise.toml: '(bad' is not a regular expression: "),
                       Error);
  CHECK_THROWS_AS(gh::Patterns({"a{1000000}"}, "gh-advise.toml"), Error);
  CHECK_FALSE(
      gh::Patterns({"(a*)*b"}, "x").match(std::string(50'000, 'a')));  // RE2: no backtracking
}
