// The GitHub action and the GitLab example, run step by step.
#include "support/program.hpp"

using namespace support;

TEST_CASE("CI: the steps of the GitHub action judge, write the summary and hand SARIF on") {
  const TempDir dir;
  const auto command = [&](const std::string& inputs) {
    std::filesystem::remove(dir / "summary");
    return "/usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
           "/.github/actions/gh-advise/action.yml' summary=" +
           quoted(dir / "summary") + " " + inputs;
  };
  const auto action = [&](const std::string& inputs) { return shell(command(inputs)); };
  const std::string program = "input.program='" GH_PROGRAM "' ";
  const Ran red = action(program + "input.report=starved.sqlite input.baseline=good.sqlite");
  CHECK(red.status == 1);
  CHECK(
      contains(red.out, "::error file=starved.sqlite,title=gh-advise%3A data-loader-starvation::"));
  CHECK(contains(red.out, "uses: github/codeql-action/upload-sarif@"));
  CHECK(contains(red.out, "output verdict: regressed"));
  CHECK(contains(read_file(dir / "summary"), "Regressed: data-loader-starvation is new"));
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
  // A name in brackets is that of a file.
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "[good.sqlite]");
  std::filesystem::copy_file(GH_FIXTURES "/good.sqlite", dir / "good.sqlite");
  const Ran brackets =
      shell("cd " + quoted(dir / "") + " && " +
            command(program + "input.report='[good.sqlite]' input.baseline='" GH_FIXTURES
                              "/good.sqlite'"));
  CHECK(brackets.status == 1);
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
  // A line that vouches for another file.
  CHECK(
      action(stubbed, address + "input.sha256=\"" + wrong + "  $PWD/good.sqlite\"$'\\nx'").status ==
      2);
  // curl itself takes nothing but https, and no address for an option.
  for (const char* other : {"file://" GH_PROGRAM, "http://127.0.0.1:9/gh-advise", "--version"})
    CHECK(action("", "input.download=" + std::string(other) + " input.sha256=" + right).status !=
          0);
}

TEST_CASE("CI: the GitHub action takes a release, by its checksum, and builds nothing") {
  const TempDir dir;
  const std::string machine = lines_of(shell("uname -m").out).at(0),
                    archive = "gh-advise-1.2.3-linux-" + machine + ".tar.gz";
  std::filesystem::create_directories(dir / "release/top/bin");
  std::filesystem::copy_file(GH_PROGRAM, dir / "release/top/bin/gh-advise");
  CHECK(shell("cd " + quoted(dir / "release") + " && tar -czf " + archive + " top && sha256sum " +
              archive + " > SHA256SUMS")
            .status == 0);
  // In curl's place, since there is no server here: it brings what the address ends in.
  write_script(dir / "bin/curl",
               "echo \"curl $*\"\n"
               "while [ $# -gt 0 ]; do case $1 in --output) to=$2;; --url) from=$2;; esac; shift; "
               "done\ncp " +
                   quoted(dir / "release") + "/\"${from##*/}\" \"$to\"\n");
  const auto action = [&](const std::string& inputs) {
    return shell("PATH=" + quoted(dir / "bin") +
                 ":$PATH /usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' input.report=fed.sqlite "
                 "input.baseline=good.sqlite github.server_url=https://example.org "
                 "github.action_repository=tools/gh-advise " +
                 inputs);
  };
  const Ran ran = action("input.version=v1.2.3");
  CHECK(ran.status == 0);
  CHECK(contains(ran.out,
                 "--url https://example.org/tools/gh-advise/releases/download/v1.2.3/" + archive));
  CHECK(contains(ran.out, "output verdict: passes"));
  CHECK(action("github.action_ref=v1.2.3").status == 0);  // the tag by which it is used
  const Ran branch = action("github.action_ref=main");
  CHECK(branch.status == 2);
  CHECK(contains(branch.out, "::error::give the input version, as in version: 0.2.0, or program"));
  CHECK(action("input.version=latest").status == 2);
  CHECK(action("input.version=1.2.3/../../x").status == 2);
  CHECK(action("input.version=1.2.4").status != 0);
  const std::string other(64, '0');
  CHECK(action("input.version=1.2.3 input.sha256=" + other).status != 0);
  write_file(dir / "release/SHA256SUMS", other + "  " + archive + "\n");
  CHECK(action("input.version=1.2.3").status != 0);
  write_file(dir / "release/SHA256SUMS", other + "  another.tar.gz\n");
  CHECK(contains(action("input.version=1.2.3").out, "SHA256SUMS does not have"));
}

TEST_CASE("CI: the GitHub action uploads the page and keeps one comment of a few lines") {
  const TempDir dir;
  // In the place of gh: the comments that there are, and what is written.
  write_script(
      dir / "bin/gh",
      "cd " + quoted(dir / "") +
          "\n[ ! -e refuse ] || exit 1\n"
          "case \"$*\" in\n"
          "  *PATCH*|*POST*) echo \"$*\" >> written\n"
          "    for a in \"$@\"; do case $a in body=@*) cp \"${a#body=@}\" body ;; esac; done ;;\n"
          "  *) [ ! -e comments ] || cat comments ;;\n"
          "esac\n");
  const auto action = [&](const std::string& inputs) {
    return shell("PATH=" + quoted(dir / "bin") +
                 ":$PATH /usr/bin/python3 '" GH_SOURCE_DIR "/tests/ci/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' input.program='" GH_PROGRAM
                 "' input.report=starved.sqlite input.baseline=good.sqlite "
                 "github.repository=a/b github.server_url=https://example.org github.run_id=5 " +
                 inputs);
  };
  const std::string pull = "github.event.pull_request.number=7 ";
  const Ran first = action(pull);
  CHECK(first.status == 1);
  CHECK(contains(first.out, "uses: actions/upload-artifact@"));
  const std::string page = first.out.substr(first.out.find("output page: ") + 13);
  CHECK(contains(read_file(page.substr(0, page.find('\n'))), "<html"));
  CHECK(contains(read_file(dir / "written"), "POST repos/a/b/issues/7/comments"));
  const std::string body = read_file(dir / "body");
  CHECK(body.starts_with("<!-- gh-advise: gh-advise -->\n## ❌ gh-advise\n\n**Regressed: "));
  CHECK(contains(body, "*Fix:*"));
  CHECK(contains(body, "https://example.org/a/b/actions/runs/5"));
  CHECK(!contains(body, "<details>"));
  CHECK(lines_of(body).size() <= 20);
  // The next run changes that comment.
  write_file(dir / "comments", "42\n");
  std::filesystem::remove(dir / "written");
  CHECK(action(pull).status == 1);
  CHECK(contains(read_file(dir / "written"), "PATCH repos/a/b/issues/comments/42"));
  CHECK(lines_of(read_file(dir / "written")).size() == 1);
  // Without a pull request, or if it is not wanted, there is no comment; a refusal is a warning.
  std::filesystem::remove(dir / "written");
  CHECK(action("").status == 1);
  CHECK(action(pull + "input.comment=false").status == 1);
  CHECK(!std::filesystem::exists(dir / "written"));
  write_file(dir / "refuse", "");
  const Ran refused = action(pull);
  CHECK(refused.status == 1);
  CHECK(contains(refused.out, "::warning::gh-advise: no comment on the pull request"));
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
  CHECK(contains(read_file(dir / "gh-advise.html"), "<html"));
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
