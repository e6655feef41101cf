// The GitHub action and the GitLab example, run step by step.
#include "support/program.hpp"

using namespace support;

TEST_CASE("CI: the steps of the GitHub action judge, write the summary and hand SARIF on") {
  const TempDir dir;
  const auto action = [&](const std::string& inputs) {
    std::filesystem::remove(dir / "summary");
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' summary=" +
                 quoted(dir / "summary") + " " + inputs);
  };
  const std::string program = "input.program='" GH_PROGRAM "' ";
  const Ran red = action(program + "input.report=starved.sqlite input.baseline=good.sqlite");
  CHECK(red.status == 1);
  CHECK(
      contains(red.out, "::error file=starved.sqlite,title=gh-advise%3A data-loader-starvation::"));
  CHECK(contains(red.out, "uses: github/codeql-action/upload-sarif@"));
  CHECK(contains(red.out, "output verdict: regressed"));
  CHECK(contains(read_file(dir / "summary"), "Regressed: data-loader-starvation came in"));
  const Ran green =
      action(program + "input.report='good.sqlite fed.sqlite' input.baseline=starved.sqlite");
  CHECK(green.status == 0);
  CHECK(contains(read_file(dir / "summary"), "data-loader-starvation is gone"));
  const std::string sarif = green.out.substr(green.out.find("output sarif: ") + 14);
  CHECK(!contains(read_file(sarif.substr(0, sarif.find('\n'))),
                  "absent"));  // GitHub would show it as a finding
  const Ran block =
      action(program + "input.report=$'good.sqlite\nstarved.sqlite' input.baseline=good.sqlite");
  CHECK(block.status != 0);  // a capture on a line of its own counts as well
  const Ran unclear = action(program + "input.report=um.sqlite input.baseline=good.sqlite");
  CHECK(unclear.status == 2);
  CHECK(contains(unclear.out, "output verdict: cannot_tell"));
  CHECK(action(program + "input.report=missing.sqlite input.baseline=good.sqlite").status == 2);
  CHECK(contains(read_file(dir / "summary"), "missing.sqlite: no such file"));
  CHECK(action(program +
               "input.report=starved.sqlite input.baseline=good.sqlite input.fail-on=nonsense")
            .status == 2);
  CHECK(action(
            "input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM)
            .status == 2);  // of unknown contents
  CHECK(
      action("input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM
             " input.sha256=$(sha256sum '" GH_PROGRAM "' | cut -d' ' -f1)")
          .status == 0);
  CHECK(
      action("input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM
             " input.sha256=$(sha256sum good.sqlite | cut -d' ' -f1)")
          .status != 0);
}

TEST_CASE("CI: the GitLab example fails and passes like the program, and leaves its reports") {
  const TempDir dir;
  const auto job = [&](const std::string& report) {
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.gitlab/gh-advise.gitlab-ci.yml' GH_ADVISE='" GH_PROGRAM "' REPORT='" GH_FIXTURES
                 "/" +
                     report + ".sqlite' BASELINE='" GH_FIXTURES "/good.sqlite'",
                 {"", dir / ""})
        .status;
  };
  CHECK(job("starved") == 1);
  CHECK(contains(read_file(dir / "gh-advise.xml"), "failures=\"2\""));
  CHECK(contains(read_file(dir / "gh-advise.md"), "Regressed"));
  CHECK(job("fed") == 0);
  CHECK(job("um") == 2);
}
