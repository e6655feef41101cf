// The search for many texts at once.
#include <fmt/format.h>

#include "read/scrub/literals.hpp"
#include "read/scrub/remover.hpp"
#include "support/program.hpp"

using namespace support;
using namespace gh::scrubbing;

namespace {

// Enough for whatever a test does from now on.
gh::Deadline any_time() { return gh::Deadline(GH_FIXTURES "/good.sqlite"); }

// What is found, as "position text".
std::vector<std::string> found(std::vector<Literal> sought, const std::string& text,
                               std::optional<std::uint32_t> turn = std::nullopt) {
  std::vector<std::string> all;
  const gh::Deadline deadline = any_time();
  Literals(std::move(sought))
      .each_in(text, turn, gh::Pace(deadline), [&](const Literal& one, std::size_t at) {
        all.push_back(fmt::format("{} {}", at, one.text));
        return true;
      });
  return all;
}
Literal literal(std::string text, Reach reach = Reach::anywhere, std::uint32_t turn = 0) {
  return {.text = std::move(text), .reach = reach, .turn = turn, .instead = replacement};
}
using All = std::vector<std::string>;

}  // namespace

TEST_CASE("scrub: of many literals the first in a text is found, and the longest there") {
  const auto some = [] {
    return std::vector{literal("abc"), literal("abcde"), literal("abcdx"), literal("bcdef"),
                       literal("z"),   literal("ab"),    literal("abc"),   literal("cdefgh")};
  };
  CHECK(found(some(), "abcdefgh") == All{"0 abcde"});
  CHECK(found(some(), "abcdyz") == All{"0 abc", "5 z"});
  CHECK(found(some(), "abab-bcdef") == All{"0 ab", "2 ab", "5 bcdef"});
  CHECK(found(some(), "a").empty());
  CHECK(found(some(), "").empty());
  CHECK(found({}, "abc").empty());
}

TEST_CASE("scrub: a literal counts by what is beside it, and only in its turn") {
  const auto some = [] {
    return std::vector{literal("word", Reach::as_word, 1), literal("name", Reach::as_name, 2),
                       literal("123", Reach::as_number, 3),
                       literal("word-name", Reach::as_word, 4)};
  };
  CHECK(found(some(), "word word_ xword 1word word") == All{"0 word", "23 word"});
  CHECK(found(some(), "name_name name1 xname") == All{"0 name", "5 name"});
  CHECK(found(some(), "a123b 1234 0123 123") == All{"1 123", "16 123"});
  CHECK(found(some(), "word-name") == All{"0 word-name"});
  CHECK(found(some(), "word-name", 1) == All{"0 word"});
  CHECK(found(some(), "word-name", 2) == All{"5 name"});
  // What is replaced is no neighbor.
  CHECK(found({literal("12", Reach::as_number)}, "1212").empty());
  CHECK(found({literal("ab1"), literal("name", Reach::as_name)}, "ab1name") ==
        All{"0 ab1", "3 name"});
}

TEST_CASE("scrub: long literals are told from others with the same beginning") {
  const std::string run(5000, 'a');
  const auto some = [&] {
    return std::vector{literal(run + "b"), literal(run + "bc"), literal(run + "d")};
  };
  CHECK(found(some(), run + run + "bc" + run) == All{"5000 " + run + "bc"});
  CHECK(found(some(), run + "e" + run + "d") == All{"5001 " + run + "d"});
  CHECK(found(some(), run + "bb" + run + "b") == All{"0 " + run + "b", "5002 " + run + "b"});
}

TEST_CASE("scrub: folders are replaced first, then values, then names, the longest of them first") {
  const gh::Deadline deadline = any_time();
  const Remover remover({{.text = "/home/jane", .instead = "~", .origin = ""},
                         {.text = "/home/jane/team", .instead = ".", .origin = ""},
                         {.text = "~/data/x7", .origin = ""},
                         {.text = "node", .reach = Reach::as_name, .origin = ""},
                         {.text = "b.node", .reach = Reach::as_name, .origin = ""},
                         {.text = "node.cluster", .reach = Reach::as_name, .origin = ""},
                         {.text = "Q0tFWQ", .any_case = false, .origin = ""}},
                        deadline);
  const auto without = [&](std::string text) {
    CHECK(remover.remove_from(text) == (text != "nothing"));
    return text;
  };
  CHECK(without("/HOME/jane/team/x") == "~/team/x");
  CHECK(without("/home/jane/data/x7") == "[removed]");
  CHECK(without("b.node.cluster NODE,Node") == "b.[removed] [removed],[removed]");
  CHECK(without("Q0tFWQ q0tfwq") == "[removed] q0tfwq");
  CHECK(without(R"(\u006eode "x")") == R"([removed] "x")");
  CHECK(remover.finds_in("the node"));
  CHECK(!remover.finds_in("nodes q0tfwq"));
}
