// Suggestions for misspelled names.
#include <doctest/doctest.h>

#include "base/text.hpp"

TEST_CASE("suggestions: a near miss is suggested, an unrelated word is not") {
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
