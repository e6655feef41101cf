// `gh-advise check`: reports one after the other, what of them is analysed, and the exit status.
#include <set>

#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// The same device, chosen alone and with others. How much of its idle time, and of its waiting for
// other ranks, is the profiler's is replayed with the devices that were chosen, so these times of a
// step and the shares may differ.
void same_device(nlohmann::ordered_json a, nlohmann::ordered_json b) {
  REQUIRE(a["account"].size() == b["account"].size());
  for (auto* device : {&a, &b})
    for (auto& part : (*device)["account"]) {
      part.erase("fraction");
      if (const std::string cause = part["cause"];
          cause.starts_with("idle.") || cause == "communication_exposed")
        part.erase("ns_per_step");
    }
  CHECK(a == b);
}

}  // namespace

TEST_CASE("check: a report is checked without saying so, several one after the other") {
  const Ran one = advise("starved.sqlite"), other = advise("good.sqlite");
  CHECK(one.status == 0);
  CHECK(one.err == "");
  CHECK(advise("check starved.sqlite").out == one.out);
  CHECK(advise("starved.sqlite good.sqlite").out == one.out + "\n" + other.out);
  CHECK(advise("--format text starved.sqlite").out == one.out);

  // JSON has one shape for one report and for several, and a line of JSONL is an item of it.
  const auto document = json_of(advise("starved.sqlite --format json"));
  CHECK(document["schema_version"] == 3);
  CHECK(document["errors"].empty());
  REQUIRE(document["reports"].size() == 1);
  CHECK(document["reports"][0]["report"]["path"] == "starved.sqlite");
  const auto both = json_of(advise("starved.sqlite good.sqlite --format=json"));
  REQUIRE(both["reports"].size() == 2);
  CHECK(both["reports"][0] == document["reports"][0]);
  CHECK(both["reports"][1]["report"]["path"] == "good.sqlite");
  const auto lines = lines_of(advise("starved.sqlite good.sqlite --format jsonl").out);
  REQUIRE(lines.size() == 2);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(nlohmann::ordered_json::parse(lines[i]) == both["reports"][i]);
}

TEST_CASE("check: a folder stands for the reports in it and below it") {
  const TempDir dir;
  const How here{"", dir / ""};
  fs::create_directories(dir / "runs/old/.hidden");
  const auto put = [&](const char* name, const std::string& as) {
    fs::copy_file(std::string(GH_FIXTURES "/") + name, dir / ("runs/" + as));
  };
  put("starved.sqlite", "b.sqlite");
  put("starved.sqlite", "old/.hidden/c.sqlite");
  put("good.sqlite", "old/a.sqlite");
  put("ddp.rank0.pt.trace.json", "old/rank0.json");
  put("ddp.rank1.pt.trace.json", "old/rank1.json");
  CHECK(
      shell("gzip -c '" GH_FIXTURES "/good.pt.trace.json' > runs/old/copy.json.gz", here).status ==
      0);
  write_file(dir / "runs/results.json", "{\"loss\": 1}");
  write_file(dir / "runs/b.nsys-rep", "");  // b.sqlite is its export
  write_file(dir / "runs/notes.txt", "none");
  fs::create_directory_symlink("..", dir / "runs/old/loop");
  const auto paths = [&](const std::string& arguments) {
    std::vector<std::string> list;
    const auto document = json_of(advise(arguments + " --format json", here));
    for (const auto& r : document["reports"]) list.push_back(r["report"]["path"]);
    return list;
  };
  const std::vector<std::string> found = paths("runs");
  REQUIRE(found.size() == 4);
  CHECK(found[0] == "runs/b.sqlite");
  CHECK(found[1] == "runs/old/a.sqlite");
  CHECK(found[2] == "runs/old/copy.json.gz");
  CHECK(found[3] == "runs/old/rank0.json and 1 more rank of the same job");
  CHECK(paths("runs/old/a.sqlite runs/b.sqlite").size() == 2);
  CHECK(paths("top runs").size() == 4);
  CHECK(advise("facts runs", here).status == 2);
  CHECK(advise("baseline runs -o b.json", here).status == 2);  // they are of several programs
  fs::create_directory(dir / "empty");
  write_file(dir / "empty/results.json", "{\"loss\": 1}");
  CHECK(error_line("empty", here) ==
        "empty: no report in this folder or below it; a report is a *.sqlite or *.nsys-rep of "
        "Nsight Systems, or a *.json or *.json.gz of PyTorch's profiler");
}

TEST_CASE("check: a report that cannot be read does not hinder the others") {
  const Ran ran = advise("missing.sqlite starved.sqlite");
  CHECK(ran.status == 2);
  CHECK(ran.err == "gh-advise: missing.sqlite: no such file; check the path\n");
  CHECK(ran.out == advise("starved.sqlite").out);
  const auto json = json_of(advise("starved.sqlite missing.sqlite --format json"));
  CHECK(json["reports"].size() == 1);
  REQUIRE(json["errors"].size() == 1);
  CHECK(contains(json["errors"][0].get<std::string>(), "missing.sqlite: no such file"));
  CHECK(lines_of(advise("missing.sqlite none.sqlite").err).size() == 2);
  const auto none = json_of(advise("missing.sqlite --format json"));
  CHECK(none["reports"].empty());
  CHECK(none["errors"].size() == 1);
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

  const auto report = report_of(advise("starved.sqlite --format json --select input"));
  CHECK(report["findings"].size() == 1);
  CHECK(report["clean"].empty());
  CHECK(report_of(advise(
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
    return report_of(advise(arguments + " --format json"));
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
  const auto rank = steps("ddp.sqlite --rank 0");
  same_device(second["devices"][0], both["devices"][1]);
  same_device(rank["devices"][0], both["devices"][0]);
  // A device's account is of the step of what was chosen.
  for (const auto& report : {both, second, rank}) {
    double sum = 0, devices = 0;
    for (const auto& device : report["devices"]) {
      for (const auto& part : device["account"]) sum += part["ns_per_step"].get<double>();
      ++devices;
    }
    CHECK(sum / devices == doctest::Approx(report["steps"]["ns"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("check: --fail-on sets the exit status, and by default nothing found does") {
  const TempDir dir;
  const std::string only =
      "eager.sqlite --select unfused-softmax --config " + quoted(dir / "c.toml");
  for (const auto& [severity, statuses] : std::vector<std::pair<std::string, std::vector<int>>>{
           {"error", {1, 1, 1}}, {"warning", {0, 1, 1}}, {"note", {0, 0, 1}}}) {
    write_file(dir / "c.toml", "[rule.unfused-softmax]\nseverity = \"" + severity + "\"\n");
    CHECK(report_of(advise(only + " --format json"))["findings"][0]["severity"] == severity);
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
