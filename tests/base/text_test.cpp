// Text for people: making foreign bytes harmless.
#include "base/text.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace std::string_literals;

TEST_CASE("text: direction changes are removed") {
  CHECK(gh::printable("a\u202Eb\u2066c\u200Fd\u2030e") == "a b c d\u2030e");
}

TEST_CASE("text: invisible and invalid characters are removed") {
  for (const char* hidden :
       {"\u00ad", "\u061c",       "\u180e",       "\u200b",     "\u200d",     "\u200e",    "\u2028",
        "\u2029", "\u202a",       "\u2060",       "\u2064",     "\u2066",     "\u206f",    "\ufeff",
        "\ufff9", "\xEF\xBF\xBE", "\xEF\xBF\xBF", "\U000E0001", "\U000E0041", "\U0001FFFE"}) {
    INFO(hidden);
    CHECK(gh::printable("a" + std::string(hidden) + "b") == "a b");
  }
  for (const char* shown : {"\u00a0", "\u00ac", "\u00ae", "\u2010", "\u2027", "\u202f", "\u205f",
                            "\u2070", "\ufe0f", "\ufffd", "\U0001F680", "\U000E1000"})
    CHECK(gh::printable(shown) == shown);
}

TEST_CASE("text: line breaks stay, and each line is printable") {
  CHECK(gh::printable_lines("a\x1b[0m\nb\r\n\nc\u202e") == "a [0m\nb \n\nc ");
  CHECK(gh::printable_lines("") == "");
  CHECK(gh::printable_lines("\n") == "\n");
}

TEST_CASE("text: text quoted in errors is printable") {
  CHECK(gh::Error("a\x1b[31m\n::b\u202e").what() == std::string("a [31m ::b "));
}

TEST_CASE("text: printable keeps only good UTF-8") {
  CHECK(gh::printable("step 12, Größe, 訓練, 🚀") == "step 12, Größe, 訓練, 🚀");
  CHECK(gh::printable("") == "");
  // Controls, terminal escapes (7 and 8 bits) and NUL each become a space.
  CHECK(gh::printable("a\tb\nc\r\x7F"s) == "a b c  ");
  CHECK(gh::printable("\x1B[31mred\x1B]0;title\a"s) == " [31mred ]0;title ");
  CHECK(gh::printable("\xC2\x9B"
                      "31m"s) == " 31m");
  CHECK(gh::printable("a\0b"s) == "a b");
  // Bytes that are not UTF-8: stray continuation bytes, cut sequences, overlong forms, surrogates,
  // beyond Unicode.
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

TEST_CASE("text: printable does not change printable text") {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string once = gh::printable(bytes);
    REQUIRE(gh::printable(once) == once);
    for (const char c : once) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
  }
}

TEST_CASE("text: shortened keeps both ends, whole characters and the width") {
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
