// Globs, and regular expressions.
#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <set>

#include "base/schema_table.hpp"
#include "base/text.hpp"

using gh::Error;
using namespace std::string_literals;

TEST_CASE("globs: * and ? match as in a shell") {
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

TEST_CASE("globs: matching agrees with a simple recursion") {
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

TEST_CASE("globs: no pattern takes forever") {
  std::string pattern;
  for (int i = 0; i < 500; ++i) pattern += "a*";
  CHECK_FALSE(gh::glob_match(pattern + "b", std::string(20'000, 'a')));
}

TEST_CASE("patterns: they match anywhere, ignore case, and say what is wrong with them") {
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

TEST_CASE("patterns: the program's own are compiled when they are first asked") {
  const gh::Patterns own(std::vector<std::string>{"^nccl", "(?-i)^Flash"});
  const gh::Patterns copy = own;
  CHECK_FALSE(own.empty());
  CHECK(copy.match("NCCL"));
  CHECK(own.match("Flash"));
  CHECK_FALSE(own.match("flash"));
  CHECK(gh::Patterns(std::vector<std::string>{}).empty());
  const gh::Patterns wrong(std::vector<std::string>{"good", "(bad"});
  CHECK_THROWS_WITH_AS(wrong.match("good"), doctest::Contains("'(bad' is not"), Error);
}

TEST_CASE("lists of patterns: which of them match, each once, in their order") {
  using Found = std::vector<std::size_t>;
  const gh::PatternLists lists({{"^step"}, {}, {"layer", "block \\d"}, {"STEP \\d"}});
  CHECK(lists.match("Step 3") == Found{0, 3});
  CHECK(lists.match("layer of block 4") == Found{2});
  CHECK(lists.match("my step") == Found{});
  CHECK(lists.match("") == Found{});
  CHECK(gh::PatternLists().match("step") == Found{});
}

// What is compiled only when a report asks for it, a user would otherwise be the first to compile.
TEST_CASE("patterns: each expression of the tables is one by itself") {
  const std::set<std::string, std::less<>> expressions{"match",
                                                       "except",
                                                       "kernels",
                                                       "ranges",
                                                       "threads",
                                                       "together",
                                                       "any",
                                                       "backward",
                                                       "backward_thread",
                                                       "module_class",
                                                       "module_begins",
                                                       "module_ends",
                                                       "module_backward",
                                                       "backward_function",
                                                       "wait",
                                                       "sleep",
                                                       "wait_thread",
                                                       "wait_lock",
                                                       "poll_lock",
                                                       "wake",
                                                       "read",
                                                       "write",
                                                       "make_thread"};
  std::size_t count = 0;
  const std::function<void(const toml::node&, std::string_view)> check = [&](const toml::node& node,
                                                                             std::string_view key) {
    if (const toml::table* table = node.as_table())
      for (const auto& [name, value] : *table) check(value, name.str());
    else if (const toml::array* list = node.as_array())
      for (const toml::node& item : *list) check(item, key);
    else if (const auto text = node.value<std::string>(); text && expressions.contains(key)) {
      CAPTURE(*text);
      CHECK_NOTHROW(gh::Patterns({*text}, "schemas"));
      ++count;
    }
  };
  for (const char* path : {"schemas/kernels.toml", "schemas/calls.toml", "schemas/ranges.toml",
                           "schemas/gpus.toml", "schemas/programs.toml", "schemas/operators.toml"})
    check(gh::schema_table(path), "");
  CHECK(count > 400);
}

TEST_CASE("capturing patterns: the group of the first that matches, respecting case") {
  const gh::CapturingPatterns patterns({"^run (\\w+)$", "(\\d+)", "^(run) it"},
                                       "schemas/ranges.toml");
  CHECK(patterns.captured("run encoder") == "encoder");
  CHECK(patterns.captured("Run encoder") == "");
  CHECK(patterns.captured("a range 42 times 7") == "42");
  CHECK(patterns.captured("run it 5 times") == "5");
  CHECK(patterns.captured("") == "");
  CHECK(gh::CapturingPatterns().captured("run encoder") == "");
}

TEST_CASE("capturing patterns: other lists may be tried first") {
  gh::CapturingPatterns patterns({"(a.)"}, "x");
  patterns.put_first(gh::CapturingPatterns({"(b.)", "(c.)"}, "y"));
  CHECK(patterns.captured("a1 c2 b3") == "b3");
  CHECK(patterns.captured("a1 c2") == "c2");
  CHECK(patterns.captured("a1") == "a1");
}

TEST_CASE("capturing patterns: they have one group each, and say so") {
  const auto make = [](const char* expression) {
    gh::CapturingPatterns({"(good)", expression}, "gh-advise.toml");
  };
  CHECK_THROWS_WITH_AS(make("(bad"),
                       doctest::Contains("gh-advise.toml: '(bad' is not a regular expression: "),
                       Error);
  for (const char* wrong : {"none", "(two) (groups)", "(?:none)"})
    CHECK_THROWS_WITH_AS(
        make(wrong),
        doctest::Contains("' needs one pair of parentheses, around the part that counts"), Error);
  CHECK_NOTHROW(make("(?:not) (counted)"));
}
