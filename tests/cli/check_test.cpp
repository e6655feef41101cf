// `gh-advise check`: reports one after the other, what of them is analysed, and the exit status.
#include <set>

#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

TEST_CASE("check: a report is checked without saying so, several one after the other") {
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

TEST_CASE("check: a report that cannot be read does not hinder the others") {
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

TEST_CASE("check: rules are chosen by id and category") {
  const std::set<std::string> all = rule_ids(advise("rules --format json"));
  CHECK(all.size() >= 31);
  const std::set<std::string> comm{"data-parallel",      "ddp-buffers",
                                   "exposed-collective", "fsdp-late-gather",
                                   "fsdp-regather",      "grad-sync-every-microbatch",
                                   "pipeline-bubble",    "rank-straggler",
                                   "slow-collective",    "small-collectives"};
  const auto comm_and = [&](std::set<std::string> more) {
    return more.insert(comm.begin(), comm.end()), more;
  };
  CHECK(rule_ids(advise("rules --format json --select comm")) == comm);
  CHECK(rule_ids(
            advise("rules --format json --select comm,unfused-softmax,um-migration-storm --ignore "
                   "um-migration-storm")) == comm_and({"unfused-softmax"}));
  CHECK(rule_ids(advise("rules --format json --select comm --select input")) ==
        comm_and({"data-loader-starvation"}));
  auto less = all;
  less.erase("capture-quality");
  less.erase("failed-calls");
  less.erase("harmful-environment");
  CHECK(rule_ids(advise("rules --format json --ignore capture")) == less);

  const auto report = json_of(advise("starved.sqlite --format json --select input"));
  CHECK(report["findings"].size() == 1);
  CHECK(report["clean"].empty());
  CHECK(json_of(advise(
      "starved.sqlite --format json --ignore data-loader-starvation,compute"))["findings"]
            .empty());

  CHECK(error_line("starved.sqlite --select data-loader-starvatoin") ==
        "there is no rule or category 'data-loader-starvatoin' (did you mean "
        "'data-loader-starvation'?); `gh-advise rules` lists them");
  CHECK(contains(error_line("starved.sqlite --ignore memroy"), "(did you mean 'memory'?)"));
  CHECK(contains(error_line("starved.sqlite --select memory --ignore memory"), "leave no rule"));
}

TEST_CASE("check: a gate does not pass where there was nothing to judge") {
  const TempDir dir;
  run_sql(dir / "empty.sqlite", "CREATE TABLE StringIds (id, value)");
  CHECK(advise("empty.sqlite --select input", {"", dir / ""}).status == 0);
  const Ran gate = advise("empty.sqlite --select input --fail-on error", {"", dir / ""});
  CHECK(gate.status == 2);
  CHECK(contains(gate.err, "holds no GPU work"));
}

TEST_CASE("check: steps, ranges, devices and ranks choose what is analysed") {
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

TEST_CASE("check: --fail-on sets the exit status, and by default nothing found does") {
  const TempDir dir;
  const std::string only =
      "eager.sqlite --select unfused-softmax --config " + quoted(dir / "c.toml");
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

TEST_CASE("check: two runs print the same bytes" * slow_with_sanitizers) {
  for (const char* name : {"ddp", "um-umtouch-full", "eager-autogradnvtx", "lora"})
    for (const char* how : {"", " --format json"})
      CHECK(advise(std::string(name) + ".sqlite" + how).out ==
            advise(std::string(name) + ".sqlite" + how).out);
  CHECK(advise("facts --format json ddp.sqlite").out ==
        advise("facts --format json ddp.sqlite").out);
}
