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

TEST_CASE("options: what is missing or wrong is one line that says what to do") {
  CHECK(contains(error_line(""), "name a report, or a command"));
  CHECK(contains(error_line("check"), "REPORT is required; see `gh-advise check --help`"));
  CHECK(contains(error_line("explain"), "RULE is required"));
  CHECK(contains(error_line("facts"), "REPORT is required"));
  CHECK(contains(error_line("starved.sqlite --format xml"),
                 "--format: xml not in {text,json,markdown,sarif,github,junit,html,trace}"));
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
