// Rules in a team's own folders.
#include <set>

#include "support/program.hpp"
#include "support/rules.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE(
    "team rules: they are added from several folders, and a note says which rules they replace") {
  const TempDir one, two;
  fs::create_directory(one / "deep");
  write_file(one / "deep/mine.lua", rule_text("mine", finds("0.9")));
  write_file(one / "deep/mine.test.lua", "this is no rule");
  write_file(two / "softmax.lua", rule_text("unfused-softmax", finds("0.01")));
  const std::string with = " --rules " + quoted(one / "") + " --rules " + quoted(two / "");
  const Ran ran = advise("eager.sqlite --format json --select mine,unfused-softmax" + with);
  CHECK(ran.status == 0);
  CHECK(ran.err == "gh-advise: note: rule 'unfused-softmax' of " + (two / "softmax.lua").string() +
                       " replaces rules/compute/unfused-softmax.lua\n");
  const auto findings = report_of(ran)["findings"];
  REQUIRE(findings.size() == 2);
  CHECK(findings[0]["rule"] == "mine");
  CHECK(findings[0]["category"] == "team");
  CHECK(findings[0]["message"] == "Share 90 %.");
  CHECK(findings[0]["severity"] == "error");
  CHECK(findings[1]["rule"] == "unfused-softmax");
  CHECK(findings[1]["recoverable_fraction"].get<double>() == doctest::Approx(0.01));
  CHECK(contains(advise("explain mine" + with).out, "mine: A rule of the team"));
  CHECK(rule_ids(advise("rules --format json" + with)).contains("mine"));
  CHECK(contains(error_line("eager.sqlite --rules " + quoted(two / "softmax.lua")),
                 "is not a directory"));
}

TEST_CASE("team rules: a failing one is named with file and line, and the others still run") {
  const TempDir dir;
  write_file(dir / "bad.lua", rule_text("bad", "    local nothing\n    return nothing.field"));
  const std::string arguments = "starved.sqlite --ignore compute --rules " + quoted(dir / "");
  const Ran text = advise(arguments + " --fail-on note");
  CHECK(text.status == 2);
  const std::string where = (dir / "bad.lua").string() + ":7: ";
  CHECK(text.err.starts_with("gh-advise: rule bad failed: " + where));
  CHECK(lines_of(text.err).size() == 1);
  CHECK(contains(text.out, "Rule failed: bad: "));
  CHECK(contains(text.out, "1. error: The GPU waits for the data loader"));
  const auto json = report_of(advise(arguments + " --format json"));
  REQUIRE(json["failed"].size() == 1);
  CHECK(json["failed"][0]["rule"] == "bad");
  CHECK(json["failed"][0]["error"].get<std::string>().starts_with(where));
  CHECK(json["findings"].size() == 1);
  for (const auto& id : json["clean"]) CHECK(id != "bad");

  write_file(dir / "bad.lua", "return {\n  id = 'bad'\n  category = 'team',\n}\n");
  CHECK(error_line(arguments).starts_with((dir / "bad.lua").string() + ":3: "));  // a syntax error
  write_file(dir / "bad.lua", rule_text("bad", "return {}") + "x = 1");
  CHECK(error_line(arguments).starts_with((dir / "bad.lua").string() + ":"));
  write_file(dir / "bad.lua", "return { id = 'bad', titel = 'x' }");
  CHECK(contains(error_line(arguments), "unknown key 'titel' (did you mean 'title'?)"));
}

TEST_CASE("team rules: what is deprecated still works, and a note names what to use instead") {
  const TempDir dir;
  write_file(dir / "mine.lua",
             rule_text("mine",
                       "    trace:gathered_weights() local kept, rest = "
                       "trace:ops():kept_for(trace:ops()):amid(trace:ops()):waits()\n"
                       "    trace:broadcast_buffers() trace:residency() trace:relayed()\n"
                       "    local ops, idle = trace:ops(), trace:idle()\n"
                       "    ops:first_of_steps(0.5) ops:growth 'bytes' trace:ranges():shapes()\n"
                       "    idle:doing(0.5) idle:host() idle:quarters()\n    "
                       "if trace:reduced_gradients().phases == 0 then return {} "
                       "end trace:gathered_weights()"));
  write_file(dir / "mine.test.lua",
             "return { { name = 'is clean', fixture = 'starved', expect = 'clean' } }");
  const std::string note = "gh-advise: note: " + (dir / "mine.lua").string() + ": ";
  std::string notes = note +
                      "selection:quarters is deprecated and will go: use "
                      "selection:at_start_or_end or selection:throughout\n";
  for (const char* verb :
       {"trace:reduced_gradients", "trace:gathered_weights", "trace:broadcast_buffers",
        "selection:kept_for", "selection:amid", "selection:waits", "trace:residency",
        "trace:relayed", "selection:first_of_steps", "selection:shapes", "selection:doing",
        "selection:growth", "selection:host"}) {
    const std::string name = verb;
    notes += note + name + " is deprecated and will go: use require \"" +
             name.substr(name.find(':') + 1) + "\"\n";
  }
  const Ran tested = advise("test " + quoted(dir / ""));
  CHECK(tested.out == "1 passed, 0 failed\n");
  CHECK(tested.err == notes);
  CHECK(advise("rules --rules " + quoted(dir / "")).err == notes);
  CHECK(advise("starved.sqlite --select mine --rules " + quoted(dir / "")).err == notes);
}

TEST_CASE("team rules: the program's libraries are theirs too, but no files") {
  const TempDir dir;
  write_file(dir / "other.lib.lua", "return 1");
  const auto said = [&](const std::string& name) {
    write_file(dir / "mine.lua", rule_text("mine", "    require '" + name + "'(trace) return {}"));
    return advise("starved.sqlite --select mine --rules " + quoted(dir / "")).err;
  };
  CHECK(said("gathered_weights") == "");
  CHECK(contains(said("gathered_weihgts"),
                 "there is no library 'gathered_weihgts' (did you mean 'gathered_weights'?)"));
  CHECK(contains(said("other"), "there is no library 'other'"));
  CHECK(contains(said("../mine"), "there is no library '../mine'"));
}
