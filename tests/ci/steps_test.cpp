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
}

TEST_CASE("CI: inputs of the GitHub action never become options, and only a verdict passes") {
  const TempDir dir;
  const auto action = [&](const std::string& inputs) {
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' summary=" +
                 quoted(dir / "summary") + " " + inputs);
  };
  const std::string program = "input.program='" GH_PROGRAM "' ";
  for (const char* inputs : {"input.report='starved.sqlite --help' input.baseline=good.sqlite",
                             "input.report=$'starved.sqlite\n--version' input.baseline=good.sqlite",
                             "input.report='starved.sqlite --fail-on=error' "
                             "input.baseline=good.sqlite",
                             "input.report=starved.sqlite input.baseline=--help",
                             "input.report=starved.sqlite input.baseline=good.sqlite "
                             "input.config=--help",
                             "input.report=starved.sqlite input.baseline=good.sqlite "
                             "input.fail-on=--help"}) {
    CAPTURE(inputs);
    const Ran ran = action(program + inputs);
    CHECK(ran.status == 2);
    CHECK(contains(ran.out, "::error::an input begins with '-'"));
    CHECK(!contains(ran.out, "output verdict: passes"));
  }
  // A program that ends with 0 and wrote no verdict, or another one, has judged nothing.
  const auto stub = [&](const char* name, const std::string& script) {
    write_script(dir / name, "[ \"$1\" != --version ] || exit 0\n" + script);
    return "input.program=" + quoted(dir / name) + " input.report=a input.baseline=b ";
  };
  const std::string write_verdict =
      "for a in \"$@\"; do case $a in --output=json=*) echo '  \"verdict\": \"regressed\",' > "
      "\"${a#--output=json=}\" ;; esac; done\n";
  CHECK(action(stub("silent", "exit 0\n")).status == 2);
  CHECK(action(stub("contradicting", write_verdict + "exit 0\n")).status == 2);
  CHECK(contains(action(stub("regressed", write_verdict + "exit 1\n")).out,
                 "output verdict: regressed"));
}

TEST_CASE("CI: two gates of one job do not see each other's files") {
  const TempDir dir;
  const auto action = [&](const std::string& inputs) {
    return shell("export RUNNER_TEMP=" + quoted(dir / "") +
                 "; /usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' input.program='" GH_PROGRAM "' " +
                 inputs);
  };
  CHECK(action("input.report=starved.sqlite input.baseline=good.sqlite").status == 1);
  const Ran second =
      action("input.report=starved.sqlite input.baseline=good.sqlite input.fail-on=nonsense");
  CHECK(second.status == 2);  // before anything is written
  CHECK(!contains(second.out, "data-loader-starvation"));
  CHECK(contains(second.out, "output verdict: cannot_tell"));
}

TEST_CASE("CI: what the GitHub action downloads comes by https and has its checksum") {
  const TempDir dir;
  // In curl's place, since there is no server here: says how it was called, and brings the program.
  std::filesystem::create_directory(dir / "bin");
  write_script(dir / "bin/curl",
               "echo \"curl $*\"\n"
               "while [ $# -gt 0 ]; do [ \"$1\" != --output ] || cp '" GH_PROGRAM
               "' \"$2\"; shift; done\n");
  const auto action = [&](const std::string& path, const std::string& inputs) {
    return shell(path +
                 " /usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' input.report=fed.sqlite "
                 "input.baseline=good.sqlite " +
                 inputs);
  };
  const std::string stubbed = "PATH=" + quoted(dir / "bin") + ":$PATH",
                    right = "$(sha256sum '" GH_PROGRAM "' | cut -d' ' -f1)",
                    wrong = "$(sha256sum good.sqlite | cut -d' ' -f1)",
                    address = "input.download=https://example.org/gh-advise ";
  const Ran ran = action(stubbed, address + "input.sha256=" + right);
  CHECK(ran.status == 0);
  CHECK(contains(ran.out, "curl --proto =https --tlsv1.2 --fail"));
  CHECK(contains(ran.out, "--url https://example.org/gh-advise"));
  CHECK(action(stubbed, address + "input.sha256=" + wrong).status != 0);
  CHECK(action(stubbed, address).status == 2);  // of unknown contents
  // A line that vouches for another file, and one that is none.
  CHECK(
      action(stubbed, address + "input.sha256=\"" + wrong + "  $PWD/good.sqlite\"$'\\nx'").status ==
      2);
  // curl itself takes nothing but https, and no address for an option.
  for (const char* other : {"file://" GH_PROGRAM, "http://127.0.0.1:9/gh-advise", "--version"})
    CHECK(action("", "input.download=" + std::string(other) + " input.sha256=" + right).status !=
          0);
}

TEST_CASE("CI: the GitLab example fails and passes like the program, and leaves its reports") {
  const TempDir dir;
  const auto run = [&](const std::string& report) {
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.gitlab/gh-advise.gitlab-ci.yml' GH_ADVISE='" GH_PROGRAM
                 "' BASELINE='" GH_FIXTURES "/good.sqlite' REPORT='" GH_FIXTURES "/" +
                     report,
                 {"", dir / ""})
        .status;
  };
  const auto job = [&](const std::string& report) { return run(report + ".sqlite'"); };
  CHECK(job("starved") == 1);
  CHECK(contains(read_file(dir / "gh-advise.xml"), "failures=\"2\""));
  CHECK(contains(read_file(dir / "gh-advise.md"), "Regressed"));
  CHECK(job("fed") == 0);
  CHECK(job("um") == 2);
  CHECK(run("starved.sqlite --help'") == 2);
  CHECK(!std::filesystem::exists(dir / "gh-advise.xml"));  // of the job before
  CHECK(run("fed.sqlite' CONFIG=--help") == 2);
  CHECK(run("fed.sqlite' GH_ADVISE=true") == 2);  // ends with 0 and judges nothing
  write_file(dir / "loose.toml", "[gate]\nalpha = 0\n");
  CHECK(advise("baseline " GH_FIXTURES "/good.sqlite -o " + quoted(dir / "b.json")).status == 0);
  const std::string changed = "fed.sqlite' CONFIG=loose.toml BASELINE=" + quoted(dir / "b.json");
  CHECK(run(changed) == 2);
  CHECK(run(changed + " ACCEPT_SETTINGS=true") != 1);
}
