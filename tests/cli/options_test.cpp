// What is wrong on the command line is told in one line that says what to do.
#include "support/program.hpp"

using namespace support;

TEST_CASE("options: what is misspelt gets a suggestion, in one line on standard error") {
  CHECK(error_line("starved.sqlite --fromat json") ==
        "check has no option '--fromat' (did you mean '--format'?); see `gh-advise check --help`");
  CHECK(
      contains(error_line("starved.sqlite --formt=json"), "'--formt' (did you mean '--format'?)"));
  CHECK(contains(error_line("rules --selcet x"),
                 "rules has no option '--selcet' (did you mean '--select'?)"));
  CHECK(contains(error_line("--versoin"), "(did you mean '--version'?)"));
  CHECK(error_line("chekc starved.sqlite") ==
        "'chekc' is neither a command nor a file (did you mean 'check'?)");
  CHECK(contains(error_line("rulse"), "(did you mean 'rules'?)"));
  CHECK(contains(error_line("explain unfused-sotfmax"),
                 "there is no rule 'unfused-sotfmax' (did you mean 'unfused-softmax'?)"));
  CHECK(contains(error_line("starved.sqlite --fail-on eror"),
                 "--fail-on: 'eror' is not note, warning or error (did you mean 'error'?)"));
}

TEST_CASE("options: help and version come by every usual name") {
  const std::string help = advise("--help").out, version = advise("--version").out,
                    of_check = advise("check --help").out;
  CHECK(contains(help, "gate"));
  CHECK(advise("help").out == help);
  CHECK(advise("-h").out == help);
  CHECK(advise("help check").out == of_check);
  CHECK(advise("check -h").out == of_check);
  CHECK(contains(of_check, "--fail-on"));
  CHECK(advise("version").out == version);
  CHECK(advise("-V").out == version);
  CHECK(version.starts_with("gh-advise "));
  CHECK(error_line("help gaet") ==
        "there is no command 'gaet' (did you mean 'gate'?); `gh-advise help` lists them");
  CHECK(contains(error_line("help check gate"), "see `gh-advise help --help`"));
}

TEST_CASE("options: what is missing or wrong is one line that says what to do") {
  CHECK(contains(error_line(""), "name a report, or a command"));
  CHECK(contains(error_line("check"), "REPORT is required; see `gh-advise check --help`"));
  CHECK(contains(error_line("explain"), "RULE is required"));
  CHECK(contains(error_line("facts"), "REPORT is required"));
  CHECK(contains(error_line("starved.sqlite --format xml"),
                 "--format: xml not in {text,json,jsonl,markdown,sarif,github,junit,html,trace}"));
  CHECK(contains(error_line("starved.sqlite --steps ten"), "as in --steps 10:20"));
  CHECK(contains(error_line("starved.sqlite --steps 5:3"), "the last step comes before the first"));
  CHECK(contains(error_line("starved.sqlite --device x"), "--device"));
  CHECK(contains(error_line("starved.sqlite --device 7"), "--device 7: "));
  CHECK(contains(error_line("starved.sqlite --rank 7"), "--rank 7: "));
  CHECK(contains(error_line("starved.sqlite --range nothing"), "--range 'nothing': "));
  CHECK(contains(error_line("starved.sqlite --range bakward"),
                 "the report has no range of that name (did you mean 'backward'?)"));
  CHECK(contains(error_line("starved.sqlite --range dataloader"),
                 "nothing was launched inside such ranges"));
  CHECK(contains(error_line("starved.sqlite --range backward --steps 2:3"),
                 "--range and --steps exclude each other"));
  CHECK(contains(error_line("starved.sqlite --range ''"), "--range: is empty"));
  CHECK(contains(error_line("starved.sqlite --output ''"), "--output: is empty"));
  // A variable that is not set does not eat the next option.
  for (const char* option :
       {"--baseline= --config=none", "--baseline good.sqlite --config= good.sqlite",
        "--baseline good.sqlite --fail-on= --select=host-sync"})
    CHECK(contains(error_line(std::string("gate starved.sqlite ") + option),
                   "=: is empty; give a value"));
  CHECK(error_line("starved.sqlite --steps= --timeout 5") ==
        "--steps=: is empty; give a value, or leave the option out");
  CHECK(contains(error_line("check -- --steps="), "--steps=: no such file"));
  CHECK(
      contains(error_line("starved.sqlite --rules nowhere"), "--rules nowhere: no such directory"));
  CHECK(
      contains(error_line("starved.sqlite --config nowhere.toml"), "nowhere.toml: cannot be read"));
  CHECK(contains(error_line("test nowhere"), "nowhere: no such directory"));
  // Whatever bytes the user typed, the line stays one line and drives no terminal.
  CHECK(error_line("$'a\\e[31m\\nb.sqlite'") == "a [31m b.sqlite: no such file; check the path");
  CHECK(contains(error_line("starved.sqlite $'--fo\\e\\nrmat'"), "'--fo  rmat'"));
}

TEST_CASE("options: a word in brackets is one file, wherever it stands") {
  const TempDir dir;
  const How here{"", dir / ""};
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(std::string(GH_FIXTURES "/") + from, dir / to);
  };
  copy("good.sqlite", "good.sqlite");
  copy("fed.sqlite", "fed.sqlite");
  copy("starved.sqlite", "[fed.sqlite]");
  copy("starved.sqlite", "[");
  CHECK(advise("baseline good.sqlite -o '[b.json]'", here).status == 0);
  for (const std::string file : {"'[fed.sqlite]'", "'./[fed.sqlite]'", "'['"}) {
    CAPTURE(file);
    const Ran gated = advise("gate '--baseline=[b.json]' -- " + file, here);
    CHECK(gated.status == 1);
    CHECK(contains(gated.out, "Regressed: data-loader-starvation is new"));
    CHECK(advise("gate " + file + " --baseline '[b.json]'", here).status == 1);
    CHECK(advise("check --fail-on error " + file, here).status == 1);
    CHECK(contains(advise("diff good.sqlite -- " + file, here).out, "data-loader-starvation"));
  }
  CHECK(contains(advise("gate --baseline '[b.json]' -- '[fed.sqlite,good.sqlite]'", here).err,
                 "[fed.sqlite,good.sqlite]: "));
  CHECK(contains(error_line("check x.sqlite --format '[json]'"), "--format: [json] not in"));
}

TEST_CASE("options: they may stand before the command") {
  const std::string pair = "good.sqlite starved.sqlite";
  CHECK(advise("--color never diff " + pair).out == advise("diff --color never " + pair).out);
  CHECK(advise("--color=never --format json diff " + pair).out ==
        advise("diff --format json " + pair).out);
  CHECK(error_line("--fail-on note diff " + pair).starts_with("diff has no option '--fail-on'"));
  CHECK(error_line("--fromat=json top good.sqlite")
            .starts_with("top has no option '--fromat' (did you mean '--format'?)"));
  CHECK(advise("--format json good.sqlite").out == advise("check --format json good.sqlite").out);
  // The value of an option is no command.
  CHECK(contains(error_line("--config top good.sqlite"), "top: "));
}
