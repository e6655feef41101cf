// The command line, on the real program: commands, options, exit statuses, errors, terminals, and
// what is never printed.
#include <set>

#include "program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// The one line of an error: what the user has to be told and nothing else.
std::string error_line(const Ran& ran) {
  CHECK(ran.status == 2);
  CHECK(ran.out == "");
  CHECK(ran.err.starts_with("gh-advise: "));
  CHECK(lines_of(ran.err).size() == 1);
  CHECK(ran.err.ends_with("\n"));
  return ran.err.size() > 12 ? ran.err.substr(11, ran.err.size() - 12) : ran.err;
}
std::string error_of(const std::string& arguments, const How& how = {}) {
  return error_line(advise(arguments, how));
}

std::string in_shell(const fs::path& path) { return "'" + path.string() + "'"; }

std::set<std::string> ids(const Ran& ran) {
  std::set<std::string> ids;
  const auto document = json_of(ran);
  for (const auto& rule : document["rules"]) ids.insert(rule["id"].get<std::string>());
  return ids;
}

}  // namespace

TEST_CASE("command line: what Nsight Systems writes itself is exported first") {
  const support::TempDir dir;
  support::write_file(dir / "run 1.nsys-rep",
                      std::string("\x01\x02\x00PK", 5) + std::string(500, '\x7f'));
  const auto tool = [&](const std::string& name, const std::string& script) {
    fs::create_directories((dir / name).parent_path());
    support::write_file(dir / name, "#!/bin/sh\n" + script);
    fs::permissions(dir / name, fs::perms::owner_all);
  };
  tool("bin/nsys",
       "[ \"$1 $2 $3 $4 $5\" = 'export --type sqlite --force-overwrite true' ] && [ \"$6\" = "
       "--output ] && [ -s \"$8\" ] && echo \"$7\" > '" +
           (dir / "where").string() + "' && cp '" GH_FIXTURES "/good.sqlite' \"$7\"\n");
  tool("broken", "echo starting; echo 'no such importer' >&2; exit 3\n");
  tool("idle", "exit 0\n");
  const std::string report = "'run 1.nsys-rep' --select memory",
                    direct = advise("good.sqlite --select memory").out;
  for (const Ran& ran :
       {advise(report, {"PATH=" + (dir / "bin").string() + ":/usr/bin:/bin", dir / ""}),
        advise(report + " --nsys bin/nsys", {"", dir / ""})}) {
    CHECK(ran.status == 0);
    CHECK(ran.out.substr(ran.out.find('\n')) == direct.substr(direct.find('\n')));
    CHECK(contains(ran.out, "run 1.nsys-rep\n"));
    std::string where = support::read_file(dir / "where");
    where.pop_back();
    CHECK_FALSE(fs::exists(where));  // nothing is left behind
    CHECK_FALSE(fs::exists(fs::path(where).parent_path()));
  }
  const auto error = [&](const std::string& nsys) {
    const Ran ran = advise(report + " --nsys " + nsys, {"", dir / ""});
    CHECK(ran.status == 2);
    return ran.err;
  };
  if (!emulated)
    CHECK(contains(error("./missing"),
                   "is not exported yet, and ./missing cannot be run to do it; name it with "
                   "--nsys, or run `nsys export --type sqlite run 1.nsys-rep`"));
  CHECK(contains(error("./broken"), "./broken export failed (no such importer)"));
  CHECK(contains(error("./idle"), "./idle export failed (exit status 0)"));
}

TEST_CASE("command line: a report is checked without saying so, several one after the other") {
  const Ran one = advise("starved.sqlite"), other = advise("good.sqlite");
  CHECK(one.status == 0);
  CHECK(one.err == "");
  CHECK(advise("check starved.sqlite").out == one.out);
  CHECK(advise("starved.sqlite good.sqlite").out == one.out + "\n" + other.out);
  CHECK(advise("--format text starved.sqlite").out == one.out);

  const auto document = json_of(advise("starved.sqlite --format json"));
  CHECK(document.is_object());
  CHECK(document["report"]["path"] == "starved.sqlite");
  const auto both = json_of(advise("starved.sqlite good.sqlite --format=json"));
  REQUIRE(both.is_array());
  REQUIRE(both.size() == 2);
  CHECK(both[0] == document);
  CHECK(both[1]["report"]["path"] == "good.sqlite");
}

TEST_CASE("command line: a report that cannot be read does not hinder the others") {
  const Ran ran = advise("missing.sqlite starved.sqlite");
  CHECK(ran.status == 2);
  CHECK(ran.err == "gh-advise: missing.sqlite: no such file; check the path\n");
  CHECK(ran.out == advise("starved.sqlite").out);
  const auto json = json_of(advise("starved.sqlite missing.sqlite --format json"));
  REQUIRE(json.is_array());  // as many were asked for
  CHECK(json.size() == 1);
  CHECK(lines_of(advise("missing.sqlite none.sqlite").err).size() == 2);
  CHECK(advise("missing.sqlite --format json").out == "");
}

TEST_CASE("command line: rules are chosen by id and category") {
  const std::set<std::string> all = ids(advise("rules --format json"));
  CHECK(all.size() >= 31);
  const std::set<std::string> comm{"exposed-collective", "rank-straggler", "slow-collective",
                                   "small-collectives"};
  const auto comm_and = [&](std::set<std::string> more) {
    return more.insert(comm.begin(), comm.end()), more;
  };
  CHECK(ids(advise("rules --format json --select comm")) == comm);
  CHECK(ids(advise("rules --format json --select comm,unfused-softmax,um-migration-storm --ignore "
                   "um-migration-storm")) == comm_and({"unfused-softmax"}));
  CHECK(ids(advise("rules --format json --select comm --select input")) ==
        comm_and({"data-loader-starvation"}));
  auto less = all;
  less.erase("capture-quality");
  CHECK(ids(advise("rules --format json --ignore capture")) == less);

  const auto report = json_of(advise("starved.sqlite --format json --select input"));
  CHECK(report["findings"].size() == 1);
  CHECK(report["clean"].empty());
  CHECK(json_of(advise(
      "starved.sqlite --format json --ignore data-loader-starvation,compute"))["findings"]
            .empty());

  CHECK(error_of("starved.sqlite --select data-loader-starvatoin") ==
        "there is no rule or category 'data-loader-starvatoin' (did you mean "
        "'data-loader-starvation'?); `gh-advise rules` lists them");
  CHECK(contains(error_of("starved.sqlite --ignore memroy"), "(did you mean 'memory'?)"));
  CHECK(contains(error_of("starved.sqlite --select memory --ignore memory"), "leave no rule"));
}

TEST_CASE("command line: what is misspelt gets a suggestion, in one line on standard error") {
  CHECK(error_of("starved.sqlite --fromat json") ==
        "check has no option '--fromat' (did you mean '--format'?); see `gh-advise check --help`");
  CHECK(contains(error_of("starved.sqlite --formt=json"), "'--formt' (did you mean '--format'?)"));
  CHECK(contains(error_of("rules --selcet x"),
                 "rules has no option '--selcet' (did you mean '--select'?)"));
  CHECK(contains(error_of("--versoin"), "(did you mean '--version'?)"));
  CHECK(error_of("chekc starved.sqlite") ==
        "'chekc' is neither a command nor a file (did you mean 'check'?)");
  CHECK(contains(error_of("rulse"), "(did you mean 'rules'?)"));
  CHECK(contains(error_of("explain unfused-sotfmax"),
                 "there is no rule 'unfused-sotfmax' (did you mean 'unfused-softmax'?)"));
  CHECK(contains(error_of("starved.sqlite --fail-on eror"),
                 "--fail-on: 'eror' is none of note, warning, error (did you mean 'error'?)"));
}

TEST_CASE("command line: what is missing or wrong is one line that says what to do") {
  CHECK(contains(error_of(""), "name a report, or a command"));
  CHECK(contains(error_of("check"), "REPORT is required; see `gh-advise check --help`"));
  CHECK(contains(error_of("explain"), "RULE is required"));
  CHECK(contains(error_of("facts"), "REPORT is required"));
  CHECK(contains(error_of("starved.sqlite --format xml"),
                 "--format: xml not in {text,json,markdown,sarif,github,junit,html,trace}"));
  CHECK(contains(error_of("starved.sqlite --steps ten"), "as in --steps 10:20"));
  CHECK(contains(error_of("starved.sqlite --steps 5:3"), "the last step comes before the first"));
  CHECK(contains(error_of("starved.sqlite --device x"), "--device"));
  CHECK(contains(error_of("starved.sqlite --device 7"), "--device 7: "));
  CHECK(contains(error_of("starved.sqlite --rank 7"), "--rank 7: "));
  CHECK(contains(error_of("starved.sqlite --range nothing"), "--range 'nothing': "));
  CHECK(contains(error_of("starved.sqlite --range bakward"),
                 "the report has no range of that name (did you mean 'backward'?)"));
  CHECK(contains(error_of("starved.sqlite --range dataloader"),
                 "nothing was launched inside ranges of that name"));
  CHECK(contains(error_of("starved.sqlite --range backward --steps 2:3"),
                 "--range and --steps: give one of them"));
  CHECK(contains(error_of("starved.sqlite --range ''"), "--range: is empty"));
  CHECK(contains(error_of("starved.sqlite --output ''"), "--output: is empty"));
  CHECK(contains(error_of("starved.sqlite --rules nowhere"), "--rules nowhere: no such directory"));
  CHECK(contains(error_of("starved.sqlite --config nowhere.toml"), "nowhere.toml: cannot be read"));
  CHECK(contains(error_of("test nowhere"), "nowhere: is not a directory"));
  // Whatever bytes the user typed, the line stays one line and drives no terminal.
  CHECK(error_of("$'a\\e[31m\\nb.sqlite'") == "a [31m b.sqlite: no such file; check the path");
  CHECK(contains(error_of("starved.sqlite $'--fo\\e\\nrmat'"), "'--fo  rmat'"));
}

TEST_CASE("command line: a report is never overwritten by what is said of it") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "good.sqlite");
  const Ran ran = advise("good.sqlite --output ./good.sqlite", {"", dir / ""});
  CHECK(ran.status == 2);
  CHECK(contains(ran.err, "is what is read; name another file"));
  CHECK(read_file(dir / "good.sqlite") == read_file(GH_FIXTURES "/good.sqlite"));
}

TEST_CASE("command line: a gate does not pass where there was nothing to judge") {
  const TempDir dir;
  run_sql(dir / "empty.sqlite", "CREATE TABLE StringIds (id, value)");
  CHECK(advise("empty.sqlite --select input", {"", dir / ""}).status == 0);
  const Ran gate = advise("empty.sqlite --select input --fail-on error", {"", dir / ""});
  CHECK(gate.status == 2);
  CHECK(contains(gate.err, "holds no GPU work"));
}

TEST_CASE("command line: steps, ranges, devices and ranks choose what is analysed") {
  const auto steps = [](const std::string& arguments) {
    return json_of(advise(arguments + " --format json"));
  };
  CHECK(steps("starved.sqlite")["steps"]["count"] == 11);
  CHECK(steps("starved.sqlite --steps 3:5")["steps"]["count"] == 3);
  CHECK(steps("starved.sqlite --steps 4")["steps"]["count"] == 1);
  CHECK(steps("starved.sqlite --range backward")["window_ns"] <
        steps("starved.sqlite")["window_ns"]);
  CHECK(steps("starved.sqlite --range 'back*'")["window_ns"] ==
        steps("starved.sqlite --range backward")["window_ns"]);
  const auto both = steps("ddp.sqlite"), second = steps("ddp.sqlite --device 1");
  CHECK(both["devices"].size() == 2);
  REQUIRE(second["devices"].size() == 1);
  CHECK(second["devices"][0] == both["devices"][1]);
  CHECK(steps("ddp.sqlite --rank 0")["devices"][0] == both["devices"][0]);
}

TEST_CASE("command line: --fail-on sets the exit status, and by default nothing found does") {
  const TempDir dir;
  const std::string only =
      "eager.sqlite --select unfused-softmax --config " + in_shell(dir / "c.toml");
  for (const auto& [severity, statuses] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"error", {1, 1, 1}}, {"warning", {0, 1, 1}}, {"note", {0, 0, 1}}}) {
    write_file(dir / "c.toml", "[rule.unfused-softmax]\nseverity = \"" + severity + "\"\n");
    CHECK(json_of(advise(only + " --format json"))["findings"][0]["severity"] == severity);
    CHECK(advise(only).status == 0);
    CHECK(advise(only + " --fail-on error").status == statuses[0]);
    CHECK(advise(only + " --fail-on warning").status == statuses[1]);
    CHECK(advise(only + " --fail-on note").status == statuses[2]);
  }
  CHECK(advise("good.sqlite --select memory --fail-on note").status == 0);
  CHECK(advise("good.sqlite eager.sqlite --fail-on error").status == 1);
  CHECK(advise(only + " --fail-on note").out == advise(only).out);
  CHECK(advise("eager.sqlite missing.sqlite --fail-on note").status ==
        2);  // worse than what was found
}

TEST_CASE("command line: --output writes all or nothing") {
  const TempDir dir;
  const std::string text = advise("starved.sqlite").out;
  const Ran ran = advise("starved.sqlite --output " + in_shell(dir / "out.txt"));
  CHECK(ran.status == 0);
  CHECK(ran.out == "");
  CHECK(read_file(dir / "out.txt") == text);
  CHECK(advise("facts starved.sqlite --output " + in_shell(dir / "facts.txt")).out == "");
  CHECK(read_file(dir / "facts.txt") == advise("facts starved.sqlite").out);
  CHECK(advise("rules --format json --output " + in_shell(dir / "rules.json")).status == 0);
  CHECK(read_file(dir / "rules.json") == advise("rules --format json").out);

  // What was there stays where nothing could be made.
  error_of("missing.sqlite --output " + in_shell(dir / "out.txt"));
  CHECK(read_file(dir / "out.txt") == text);
  CHECK(contains(error_of("starved.sqlite --output " + in_shell(dir / "no/out.txt")),
                 "out.txt: cannot be written: No such file or directory; check the folder"));
  fs::create_directory(dir / "folder");
  CHECK(contains(error_of("starved.sqlite --output " + in_shell(dir / "folder")),
                 "cannot be written"));
  for (const auto& entry : fs::directory_iterator(dir / ""))
    CHECK(entry.path().extension() != ".part");

  // What is no file, /dev/null say, is not replaced by one, and a link keeps leading where it did.
  CHECK(shell("mkfifo pipe && (timeout 20 cat pipe >piped & '" GH_PROGRAM "' '" GH_FIXTURES
              "/starved.sqlite' --output pipe; wait)",
              {"", dir / ""})
            .status == 0);
  CHECK(fs::is_fifo(dir / "pipe"));
  CHECK(contains(read_file(dir / "piped"), "Where a step goes"));
  write_file(dir / "target.txt", "old");
  fs::create_symlink("target.txt", dir / "link.txt");
  CHECK(advise("starved.sqlite --output " + in_shell(dir / "link.txt")).status == 0);
  CHECK(fs::is_symlink(dir / "link.txt"));
  CHECK(read_file(dir / "target.txt") == text);
  // A full disk is no success.
  const Ran full = advise("starved.sqlite >/dev/full");
  CHECK(full.status == 2);
  CHECK(full.err == "gh-advise: cannot write to standard output: No space left on device\n");
}

TEST_CASE(
    "team rules: added from several folders, and they say loudly what they take the place of") {
  const TempDir one, two;
  fs::create_directory(one / "deep");
  write_file(one / "deep/mine.lua", rule_text("mine", finds("0.9")));
  write_file(one / "deep/mine.test.lua", "this is no rule");
  write_file(two / "softmax.lua", rule_text("unfused-softmax", finds("0.01")));
  const std::string with = " --rules " + in_shell(one / "") + " --rules " + in_shell(two / "");
  const Ran ran = advise("eager.sqlite --format json --select mine,unfused-softmax" + with);
  CHECK(ran.status == 0);
  CHECK(ran.err == "gh-advise: note: rule 'unfused-softmax' of " + (two / "softmax.lua").string() +
                       " takes the place of rules/compute/unfused-softmax.lua\n");
  const auto findings = json_of(ran)["findings"];
  REQUIRE(findings.size() == 2);
  CHECK(findings[0]["rule"] == "mine");
  CHECK(findings[0]["category"] == "team");
  CHECK(findings[0]["message"] == "Share 90 %.");
  CHECK(findings[0]["severity"] == "error");
  CHECK(findings[1]["rule"] == "unfused-softmax");
  CHECK(findings[1]["recoverable_fraction"].get<double>() == doctest::Approx(0.01));
  CHECK(contains(advise("explain mine" + with).out, "mine: A rule of the team"));
  CHECK(ids(advise("rules --format json" + with)).contains("mine"));
  CHECK(contains(error_of("eager.sqlite --rules " + in_shell(two / "softmax.lua")),
                 "is not a directory"));
}

TEST_CASE("team rules: one that fails is named with file and line, and the others still speak") {
  const TempDir dir;
  write_file(dir / "bad.lua", rule_text("bad", "    local nothing\n    return nothing.field"));
  const std::string arguments = "starved.sqlite --ignore compute --rules " + in_shell(dir / "");
  const Ran text = advise(arguments + " --fail-on note");
  CHECK(text.status == 2);
  const std::string where = (dir / "bad.lua").string() + ":7: ";
  CHECK(text.err.starts_with("gh-advise: rule bad failed: " + where));
  CHECK(lines_of(text.err).size() == 1);
  CHECK(contains(text.out, "Rule failed: bad: "));
  CHECK(contains(text.out, "1. error: The GPU waits for the data loader"));
  const auto json = json_of(advise(arguments + " --format json"));
  REQUIRE(json["failed"].size() == 1);
  CHECK(json["failed"][0]["rule"] == "bad");
  CHECK(json["failed"][0]["error"].get<std::string>().starts_with(where));
  CHECK(json["findings"].size() == 1);
  for (const auto& id : json["clean"]) CHECK(id != "bad");

  write_file(dir / "bad.lua", "return {\n  id = 'bad'\n  category = 'team',\n}\n");
  CHECK(
      error_of(arguments).starts_with((dir / "bad.lua").string() + ":3: "));  // a mistake of syntax
  write_file(dir / "bad.lua", rule_text("bad", "return {}") + "x = 1");
  CHECK(error_of(arguments).starts_with((dir / "bad.lua").string() + ":"));
  write_file(dir / "bad.lua", "return { id = 'bad', titel = 'x' }");
  CHECK(contains(error_of(arguments), "unknown key 'titel' (did you mean 'title'?)"));
}

TEST_CASE("commands: rules lists, explain documents, version and help tell") {
  const Ran rules = advise("rules");
  CHECK(rules.status == 0);
  CHECK(contains(rules.out, "\nmemory\n  alloc-churn"));
  CHECK(contains(rules.out, "  host-sync                    3.0 %  The host waits"));
  for (const std::string& id : ids(advise("rules --format json"))) {
    CHECK(contains(rules.out, id));
    const Ran doc = advise("explain " + id);
    CHECK(contains(doc.out, "Do not believe it where"));
    CHECK(doc.status == 0);
    CHECK(doc.out.starts_with(id + ": "));
    for (const char* part : {"\nWhat it does\n  ", "\nWhy it matters\n  ", "\nHow to fix it\n  ",
                             "\nWhen it is wrong\n  ", "\nSeverity\n  "})
      CHECK_MESSAGE(contains(doc.out, part), id, part);
  }
  CHECK(contains(advise("explain data-loader-starvation").out,
                 "under [rule.data-loader-starvation]\n  note_share = 0.02  (fraction)\n    "));
  const auto listed = json_of(advise("rules --format json"));
  for (const auto& rule : listed["rules"])
    for (const auto& option : rule["options"])
      CHECK_MESSAGE(contains(advise("explain " + rule["id"].get<std::string>()).out,
                             "  " + option["name"].get<std::string>() + " = "),
                    option.dump());

  CHECK(advise("--version").out.starts_with("gh-advise " GH_ADVISE_VERSION "\nfor "));
  const Ran help = advise("--help");
  CHECK(help.status == 0);
  CHECK(advise("-h").out == help.out);
  for (const char* command : {"check", "facts", "rules", "explain", "test"}) {
    CHECK(contains(help.out, std::string("\n  ") + command + " "));
    CHECK(contains(advise(std::string(command) + " --help").out,
                   std::string("Usage: gh-advise ") + command + " "));
  }
  const std::string check = advise("check --help").out;
  for (const char* option : {"--format", "--output", "--select", "--ignore", "--rules", "--config",
                             "--steps", "--range", "--device", "--rank", "--fail-on"})
    CHECK_MESSAGE(contains(check, option), option);
  CHECK(advise("starved.sqlite --help").out == check);
}

TEST_CASE("commands: facts have values, units and documentation") {
  const Ran text = advise("facts starved.sqlite");
  CHECK(text.status == 0);
  const auto facts = json_of(advise("facts starved.sqlite --format json"))["facts"];
  std::map<std::string, nlohmann::ordered_json> by_name;
  for (const auto& fact : facts) {
    by_name[fact["name"]] = fact;
    const bool zero = fact["value"] == 0 && fact["name"].get<std::string>().starts_with(
                                                "account.");  // left out of the text
    CHECK_MESSAGE(contains(text.out, "\n" + fact["name"].get<std::string>() + " ") != zero,
                  fact.dump());
  }
  CHECK(by_name.size() == facts.size());
  CHECK(by_name["steps.count"]["value"] == 11);
  CHECK(by_name["step.mean_ns"]["unit"] == "ns");
  CHECK(by_name["step.mean_ns"]["value"] ==
        json_of(advise("starved.sqlite --format json"))["window_ns"].get<std::int64_t>() / 11);
  CHECK(by_name["um.gpu_faults_per_step"]["value"] == nullptr);
  CHECK(by_name["device.name"]["value"] == "NVIDIA H200");
  CHECK(contains(text.out, "unknown (the recording was made without them)"));
  CHECK(json_of(advise("facts starved.sqlite --format json --steps 2:3"))["facts"] != facts);
  error_of("facts starved.sqlite good.sqlite");
}

TEST_CASE("commands: test runs the cases beside rules, and fails with the exit status 1") {
  const TempDir dir;
  write_file(dir / "mine.lua", rule_text("mine", finds("0.9")));
  write_file(dir / "mine.test.lua",
             "return { { name = 'finds it', fixture = 'starved', expect = { { severity = 'error', "
             "subject = 'it' } } } }");
  const Ran good = advise("test " + in_shell(dir / ""));
  CHECK(good.status == 0);
  CHECK(contains(good.out, "1 passed, 0 failed"));
  write_file(dir / "mine.test.lua",
             "return { { name = 'is clean', fixture = 'starved', expect = 'clean' } }");
  const Ran bad = advise("test " + in_shell(dir / ""));
  CHECK(bad.status == 1);
  CHECK(contains(bad.out, "is clean"));
  CHECK(contains(bad.out, "0 passed, 1 failed"));
  fs::remove(dir / "mine.test.lua");
  CHECK(contains(error_of("test " + in_shell(dir / "")), "holds no rule tests"));
  fs::create_directory(dir / "elsewhere");
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "elsewhere/renamed.sqlite");
  write_file(
      dir / "mine.test.lua",
      "return { { name = 'finds it', fixture = 'renamed', expect = { { subject = 'it' } } } }");
  CHECK(
      advise("test " + in_shell(dir / "") + " --fixtures " + in_shell(dir / "elsewhere")).status ==
      0);
}

TEST_CASE("terminal: colour only there, and only where it is wanted") {
  const auto coloured = [](const Ran& ran) { return contains(ran.out, "\x1b["); };
  for (const char* command :
       {"starved.sqlite", "facts starved.sqlite", "rules", "explain unfused-softmax"}) {
    INFO(command);
    const Ran shown = on_terminal(command);
    CHECK(coloured(shown));
    CHECK(!coloured(advise(command)));
    CHECK(!coloured(on_terminal(command, {"NO_COLOR=1"})));
    CHECK(!coloured(on_terminal(command, {"TERM=dumb"})));
    CHECK(coloured(on_terminal(command, {"NO_COLOR="})));  // empty is not set (no-color.org)
    CHECK(on_terminal(command, {"NO_COLOR=1"}).out == advise(command).out);
  }
  CHECK(!coloured(on_terminal("starved.sqlite --format json")));
  CHECK(!coloured(on_terminal("starved.sqlite | cat")));
  const TempDir dir;
  for (const char* command : {"starved.sqlite", "facts starved.sqlite", "rules"}) {
    on_terminal(command + std::string(" --output ") + in_shell(dir / "out"));
    CHECK(!contains(read_file(dir / "out"), "\x1b["));
  }
  CHECK(on_terminal("starved.sqlite").status == 0);
}

TEST_CASE("terminal: its width is respected, and COLUMNS comes first") {
  for (const int columns : {60, 75, 120})
    CHECK(on_terminal("starved.sqlite", {"NO_COLOR=1"}, columns).out ==
          advise("starved.sqlite", {"COLUMNS=" + std::to_string(columns)}).out);
  CHECK(on_terminal("starved.sqlite", {"NO_COLOR=1 COLUMNS=70"}, 120).out ==
        advise("starved.sqlite", {"COLUMNS=70"}).out);
  CHECK(advise("starved.sqlite").out == advise("starved.sqlite", {"COLUMNS=100"}).out);
  CHECK(advise("starved.sqlite", {"COLUMNS=junk"}).out == advise("starved.sqlite").out);
  for (const char* command :
       {"starved.sqlite", "explain unfused-softmax", "rules", "facts starved.sqlite"})
    CHECK(advise(command, {"COLUMNS=70"}).out != advise(command, {"COLUMNS=90"}).out);
}

TEST_CASE("terminal: a line says what is being done to whom waits, and only there") {
  // Reports enough for some seconds; the first sight of the line ends it.
  std::string many;
  const int reports = emulated || sanitized ? 8 : 80;
  for (int i = 0; i < reports; ++i) many += " eager-autogradnvtx.sqlite";
  const Ran shown =
      shell("script -qec \"'" GH_PROGRAM "'" + many + " >/dev/null\" /dev/null | head -c 80");
  CHECK(shown.out.starts_with("\r\x1b[K"));
  CHECK(contains(shown.out, "ing eager-autogradnvtx.sqlite ("));
  CHECK(contains(shown.out, " of " + std::to_string(reports) + ") ... "));
  CHECK(shell("timeout -s KILL 2 '" GH_PROGRAM "'" + many + " 2>&1 >/dev/null").out == "");
}

TEST_CASE("never printed: the profiled program's environment, output and arguments") {
  const std::string marker = "SECRET_TOKEN_12345";
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/starved.sqlite", dir / "secret.sqlite");
  run_sql(dir / "secret.sqlite", R"(
    INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, 'EnvVars', 999, 'API_KEY=SECRET_TOKEN_12345' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
    INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT globalVid, devStateName, 'SECRET_TOKEN_12345', 998, 'x' FROM TARGET_INFO_SYSTEM_ENV LIMIT 1;
    INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_ENVIRONMENT', 'API_KEY=SECRET_TOKEN_12345'), ('PROCESS_ARGUMENTS', '--token=SECRET_TOKEN_12345'), ('COLLECT_CUDA_TRACE', 'SECRET_TOKEN_12345');
    INSERT INTO StringIds(id, value) VALUES (900001, CAST('PATH=/bin' || x'00' || 'API_KEY=SECRET_TOKEN_12345' || x'00' AS BLOB)), (900002, 'stdout: SECRET_TOKEN_12345'), (900003, '/tmp/SECRET_TOKEN_12345.log');
    INSERT INTO ProcessStreams SELECT globalPid, 900003, 900002 FROM PROCESSES;
    UPDATE PROCESSES SET name = 'python3 train.py --token SECRET_TOKEN_12345';
    DELETE FROM ThreadNames)");
  // One that lacks all it could lack, so that every "not checked" and note is said.
  fs::copy_file(dir / "secret.sqlite", dir / "bare.sqlite");
  run_sql(dir / "bare.sqlite",
          "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP "
          "TABLE CUPTI_ACTIVITY_KIND_MEMSET; DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME");
  // One of which a column is no integer, so that reading complains.
  fs::copy_file(dir / "secret.sqlite", dir / "odd.sqlite");
  run_sql(dir / "odd.sqlite",
          "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 'SECRET_TOKEN_12345' WHERE rowid % 3 = "
          "0; UPDATE PROCESSES SET pid = 'SECRET_TOKEN_12345'");
  write_file(dir / "rule.lua", rule_text("mine", finds("0.9")));
  write_file(dir / "rule.test.lua",
             "return { { name = 'fails', fixture = 'secret', expect = 'clean' } }");
  for (const char* report : {"secret.sqlite", "bare.sqlite", "odd.sqlite"})
    for (const char* command :
         {"", "--format json ", "facts ", "facts --format json ", "--steps 99:99 ",
          "--range nothing ", "--device 9 ", "--rank 9 ", "--rules . "}) {
      INFO(command, report);
      const Ran ran = advise(std::string(command) + report, {"", dir / ""});
      CHECK(ran.out.size() + ran.err.size() > 20);
      CHECK(!contains(ran.out + ran.err, marker));
      CHECK(!contains(ran.out + ran.err, "train.py"));
    }
  CHECK(!contains(on_terminal("secret.sqlite", {"", dir / ""}).out, marker));
  const Ran tested = advise("test . --fixtures .", {"", dir / ""});
  CHECK(tested.status == 1);
  CHECK(!contains(tested.out + tested.err, marker));
}

TEST_CASE(
    "never printed: control characters and bytes that are no text, from names in the report or of "
    "it") {
  const TempDir dir;
  const std::string report = "a\x1b[2Jb\xff.sqlite";
  fs::copy_file(GH_FIXTURES "/eager.sqlite", dir / report);
  // ESC sequences, a bell, a C1 control, an overlong form and a broken byte, in the names of
  // kernels, ranges, threads and the GPU.
  run_sql(dir / report, R"(
    UPDATE StringIds SET value = CAST(value || x'1B5B33316D0720C29B316DC0AFFF0A' AS TEXT) WHERE id IN (SELECT demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL UNION SELECT nameId FROM ThreadNames UNION SELECT textId FROM NVTX_EVENTS);
    UPDATE NVTX_EVENTS SET text = CAST(text || x'1B5D303B' AS TEXT) WHERE text IS NOT NULL;
    UPDATE PROCESSES SET name = CAST(name || x'1B5B41' AS TEXT); UPDATE TARGET_INFO_GPU SET name = CAST(name || x'1B5B42FF' AS TEXT))");
  bool named = false;
  for (const char* command : {"", "--format json ", "facts ", "facts --format json "}) {
    INFO(command);
    const Ran ran = advise(command + in_shell(report), {"", dir / ""});
    CHECK(ran.status == 0);
    for (std::size_t i = 0; i < ran.out.size(); ++i) {
      const auto byte = static_cast<unsigned char>(ran.out[i]),
                 next = static_cast<unsigned char>(i + 1 < ran.out.size() ? ran.out[i + 1] : 0);
      REQUIRE((byte >= 0x20 || byte == '\n'));
      REQUIRE(byte != 0x7F);
      REQUIRE(!(byte == 0xC2 && next >= 0x80 && next < 0xA0));
    }
    CHECK(!contains(ran.out, "\\u00"));
    CHECK_NOTHROW(nlohmann::json(ran.out).dump());  // which refuses what is not UTF-8
    named = named || contains(ran.out, "[31m");
  }
  CHECK(named);  // such a name was printed, then
}
