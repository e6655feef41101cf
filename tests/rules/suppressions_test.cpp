// [[suppress]] in the configuration.
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE(
    "suppressions: one removes a finding, for a reason and until a day, and an unused one is "
    "reported") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "starved.sqlite");
  const auto with = [&](const std::string& text, const std::string& more = "") {
    write_file(dir / "gh-advise.toml", text);
    return advise("starved.sqlite " + more, {"", dir / ""});
  };
  const std::string one =
      "[[suppress]]\nrule = 'data-loader-starvation'\nreason = 'the new loader lands in May'\n";
  const Ran ran = with(one + "until = 2999-12-31\n", "--select input --fail-on note");
  CHECK(ran.status == 0);  // it no longer counts
  CHECK(ran.err == "");
  CHECK(contains(
      ran.out,
      "Suppressed: data-loader-starvation: the new loader lands in May, until 2999-12-31"));
  CHECK(!contains(ran.out, "1. error"));
  // It says what the suppression hides, and nothing about a loss without a rule.
  CHECK(contains(ran.out, "saves about 113"));
  CHECK(contains(ran.out, "The largest loss is suppressed: The GPU waits for the data loader"));
  CHECK(!contains(with(one).out, "No rule explains"));
  const auto json = report_of(with(one, "--select input --format json"));
  CHECK(json["findings"].empty());
  CHECK(json["suppressed"][0]["rule"] == "data-loader-starvation");
  CHECK(json["suppressions"][0]["state"] == "used");

  const Ran expired = with(one + "until = 1999-12-31\n", "--select input");
  CHECK(contains(expired.out, "1. error: The GPU waits for the data loader"));
  CHECK(contains(
      expired.err,
      "gh-advise.toml:1: the suppression of data-loader-starvation expired after 1999-12-31"));
  const Ran unused =
      with("[[suppress]]\nrule = 'data-loader-starvation'\nsubject = 'another *'\nreason = 'x'\n",
           "--select input");
  CHECK(contains(unused.err, "matches nothing any more"));
  CHECK(with("[[suppress]]\nrule = 'host-sync'\nreason = 'x'\n", "--select input").err ==
        "");  // it was not checked
  CHECK(contains(
      with("[[suppress]]\nrule = 'host-snyc'\nreason = 'x'\n").err,
      "gh-advise.toml:1: there is no rule 'host-snyc' to suppress (did you mean 'host-sync'?)"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\n").err, "needs 'rule' and 'reason'"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\nreason = ' '\n").err, "needs a reason"));
  CHECK(contains(with("[[suppress]]\nrule = 'host-sync'\nreason = 'x'\nuntil = 'May'\n").err,
                 "'until' must be a date, as in 2026-12-31"));
}
