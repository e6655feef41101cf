// On which recordings rules fired, as `rules`, `explain` and the pages say. Whether
// schemas/seen.toml matches the recordings is tested by calibration.
#include "rules/seen.hpp"

#include "rules/load.hpp"
#include "support/program.hpp"

using namespace gh;
using support::contains;

namespace {

Rule own_rule(const std::string& id) {
  for (Rule& r : own_rules())
    if (r.id == id) return r;
  throw Error("no rule " + id);
}

}  // namespace

TEST_CASE("seen: recordings and measured fixes of a built-in rule, none of a team's rule") {
  Rule rule = own_rule("unfused-softmax");
  const Seen seen = seen_of(rule);
  CHECK(std::find(seen.recordings.begin(), seen.recordings.end(), "eager") !=
        seen.recordings.end());
  CHECK(seen.pairs >= 3);
  CHECK(seen.median_error <= seen.worst_error);
  CHECK(contains(seen_text(rule), "measured fixes the predicted step was "));
  rule.source += "\n";
  CHECK(seen_of(rule).recordings.empty());
  CHECK(seen_text(rule) == "is a team's own rule, without test recordings");
  CHECK(seen_text(own_rule("peer-copy-through-host")) == "has never fired on a test recording");
}

TEST_CASE("seen: each listed rule is built in, and its recordings exist") {
  for (const Rule& rule : own_rules())
    for (const std::string& recording : seen_of(rule).recordings) {
      bool found = false;
      for (const auto& entry : std::filesystem::directory_iterator(GH_FIXTURES))
        found = found || entry.path().filename().string().starts_with(recording + ".");
      CHECK_MESSAGE(found, rule.id, " on ", recording);
    }
}

TEST_CASE("seen: gh-advise rules has it as text and JSON, explain as a sentence") {
  const support::Ran text = support::advise("rules");
  CHECK(contains(text.out, "WARNS FROM  SEEN  PAIRS  OFF BY  FINDS"));
  CHECK(contains(text.out, "SEEN: on how many recordings"));
  const auto told = support::json_of(support::advise("rules --format json"));
  for (const auto& rule : told["rules"]) {
    const auto& seen = rule["seen"];
    CHECK((seen["measured_fixes"] > 0) == (seen["median_error"] != nullptr));
    if (rule["id"] == "launch-bound") CHECK(seen["recordings"].size() > 0);
  }
  CHECK(
      contains(support::advise("explain unfused-softmax").out, "Seen on recordings\n  Fires on "));
}
