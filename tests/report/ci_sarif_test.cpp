// SARIF, held to SARIF 2.1.0 and to what GitHub's code scanning asks for: by a schema of the part
// that is written, and by Microsoft's multitool where GH_SARIF_MULTITOOL names it.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

#include "support/gate_run.hpp"
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

namespace {

const std::string schema = "tests/report/sarif.schema.json";

// What is wrong between the parts of a document that keeps to the schema.
std::vector<std::string> broken_references(const Json& sarif) {
  std::vector<std::string> faults;
  const Json& run = sarif["runs"][0];
  const Json& rules = run["tool"]["driver"]["rules"];
  std::set<std::string> ids;
  for (const Json& rule : rules)
    if (!ids.insert(rule["id"]).second) faults.push_back("rule twice: " + rule["id"].dump());
  std::set<std::tuple<std::string, std::string, std::string>> alerts;
  for (const Json& result : run["results"]) {
    const std::string id = result["ruleId"];
    const auto index = result["ruleIndex"].get<std::size_t>();
    if (index >= rules.size())
      faults.push_back("no rule of this index: " + id);
    else if (rules[index]["id"] != id)
      faults.push_back("the index of another rule: " + id);
    // GitHub takes results that are alike in these for one.
    if (!alerts
             .insert({id, result["locations"][0].dump(),
                      result["partialFingerprints"]["primaryLocationLineHash"]})
             .second)
      faults.push_back("result twice: " + id);
  }
  return faults;
}

// Everything that the program writes as SARIF in one way or another.
std::vector<Json> documents() {
  std::vector<Json> all;
  for (const auto& [before, after] : std::vector<std::pair<const char*, const char*>>{
           {"good", "starved"}, {"starved", "good"}, {"offload", "good"}, {"good", "um"}})
    all.push_back(Json::parse(GateRun(before, after).text("sarif")));
  all.push_back(json_of(advise("um-umtouch-full.sqlite starved.sqlite ddp.sqlite --format sarif")));
  const TempDir dir;
  write_file(dir / "gh-advise.toml",
             "[[budget]]\nfact = 'gpu.busy_fraction'\nmin = 0.97\n[[suppress]]\nrule = "
             "'data-loader-starvation'\nreason = 'a test'\n");
  all.push_back(
      json_of(advise("gate starved.sqlite --baseline good.sqlite --format sarif --config " +
                     quoted(dir / "gh-advise.toml"))));
  return all;
}

// A small document in which every field occurs.
Json one_of_each() {
  Json all = Json::parse(GateRun("good", "starved").text("sarif"));
  Json& run = all["runs"][0];
  Json result = run["results"][0];
  const Json rule = run["tool"]["driver"]["rules"][result["ruleIndex"].get<std::size_t>()];
  result["ruleIndex"] = 0;
  result["suppressions"] = Json::array({{{"kind", "external"}, {"status", "accepted"}}});
  run["results"] = Json::array({result});
  run["tool"]["driver"]["rules"] = Json::array({rule});
  run["invocations"] = Json::parse(GateRun("good", "um").text("sarif"))["runs"][0]["invocations"];
  return all;
}

Json result_of(const Json& sarif, const std::string& rule) {
  for (const Json& result : sarif["runs"][0]["results"])
    if (result["ruleId"] == rule) return result;
  return {};
}

}  // namespace

TEST_CASE("SARIF: what is written keeps to the schema, and its parts to each other" *
          slow_with_sanitizers) {
  const std::vector<Json> all = documents();
  const std::vector<std::string> verdict = verdicts(schema, all);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK_MESSAGE(verdict[i] == "valid", "document ", i, ": ", verdict[i]);
    for (const std::string& fault : broken_references(all[i])) FAIL_CHECK(fault);
  }
  CHECK(std::any_of(all.begin(), all.end(),
                    [](const Json& sarif) { return contains(sarif.dump(), "\"suppressions\""); }));
}

TEST_CASE("SARIF: the schema refuses each field that is missing, new or of the wrong kind") {
  const Json good = one_of_each();
  std::vector<Broken> all = broken(good);
  // These are there in comparisons only.
  std::erase_if(all, [](const Broken& b) {
    return b.how == "without /runs/0/results/0/baselineState" ||
           b.how == "without /runs/0/results/0/suppressions";
  });
  const std::string result = "/runs/0/results/0", driver = "/runs/0/tool/driver",
                    rule = driver + "/rules/0", place = result + "/locations/0/physicalLocation";
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{
           {"/$schema", "https://example.org/sarif.json"},
           {"/version", "2.0.0"},
           {"/runs", Json::array()},
           {driver + "/semanticVersion", "one"},
           {rule + "/id", "Two Words"},
           {rule + "/name", "two words"},
           {rule + "/shortDescription/text", "no full stop"},
           {rule + "/fullDescription/text", std::string(1025, 'a') + '.'},
           {rule + "/help/text", ""},
           {rule + "/defaultConfiguration/level", "fatal"},
           {rule + "/properties/precision", "certain"},
           {rule + "/properties/problem.severity", "note"},
           {rule + "/properties/tags", Json(std::vector<int>(11, 1))},
           {"/runs/0/automationDetails/id", "gh-advise"},
           {"/runs/0/columnKind", "bytes"},
           {"/runs/0/invocations/0/exitCode", -1},
           {"/runs/0/invocations/0/toolExecutionNotifications/0/level", "fatal"},
           {result + "/ruleId", "Two Words"},
           {result + "/ruleIndex", -1},
           {result + "/ruleIndex", 0.5},
           {result + "/kind", "maybe"},
           {result + "/kind", "pass"},
           {result + "/level", "fatal"},
           {result + "/level", "none"},
           {result + "/message/text", ""},
           {result + "/locations", Json::array()},
           {place + "/artifactLocation/uri", ""},
           {place + "/artifactLocation/uri", "model\\head.py"},
           {place + "/artifactLocation/uri", "/home/model/head.py"},
           {place + "/artifactLocation/uri", "file:///model/head.py"},
           {place + "/artifactLocation/uri", "the model/head.py"},
           {place + "/artifactLocation/uri", "100%.py"},
           {place + "/region/startLine", 0},
           {result + "/partialFingerprints/ghAdvise~1v1", "0x1"},
           {result + "/partialFingerprints/primaryLocationLineHash", "0123456789abcdef"},
           {result + "/rank", -1},
           {result + "/rank", 100.1},
           {result + "/baselineState", "gone"},
           {result + "/suppressions/0/kind", "internal"},
           {result + "/suppressions/0/status", "tolerated"},
           {result + "/properties/recoverable_fraction", 1.01}})
    all.push_back(with_value(good, pointer, value));
  REQUIRE(all.size() > 150);
  std::vector<Json> documents{good};
  for (const Broken& b : all) documents.push_back(b.document);
  const std::vector<std::string> verdict = verdicts(schema, documents);
  CHECK_MESSAGE(verdict[0] == "valid", verdict[0]);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK_MESSAGE(verdict[i + 1] != "valid", "passes: ", all[i].how);

  CHECK(broken_references(good).empty());
  for (const auto& [pointer, value] : std::vector<std::pair<std::string, Json>>{
           {result + "/ruleIndex", 1},
           {result + "/ruleId", "another-rule"},
           {"/runs/0/results/1", good["runs"][0]["results"][0]},
           {rule.substr(0, rule.size() - 1) + "1", good["runs"][0]["tool"]["driver"]["rules"][0]}})
    CHECK_MESSAGE(!broken_references(with_value(good, pointer, value).document).empty(),
                  "passes: ", pointer);
}

TEST_CASE("SARIF: Microsoft's multitool finds no fault by SARIF's rules and GitHub's" *
          doctest::skip(std::getenv("GH_SARIF_MULTITOOL") == nullptr)) {
  const TempDir dir;
  const auto faults = [&](const Json& sarif) {
    write_file(dir / "a.sarif", sarif.dump());
    const Ran ran = shell(
        "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 \"$GH_SARIF_MULTITOOL\" validate a.sarif "
        "--rule-kind 'Sarif;Ghas' --level 'Error;Warning'",
        {"", dir / ""});
    REQUIRE(contains(ran.out, "Analyzing..."));
    std::vector<std::string> lines;
    for (const std::string& line : lines_of(ran.out))
      // It misses an address of the tool's own site, which there is none of.
      if ((contains(line, ": error ") || contains(line, ": warning ")) &&
          !contains(line, "SARIF2005"))
        lines.push_back(line);
    return lines;
  };
  for (const Json& sarif : documents())
    for (const std::string& fault : faults(sarif)) FAIL_CHECK(fault);
  Json bad = one_of_each();
  bad["runs"][0]["results"][0].erase("locations");
  CHECK(!faults(bad).empty());
}

TEST_CASE("SARIF: it says what became of each finding, and how to fix it" * slow_with_sanitizers) {
  const Json run = Json::parse(GateRun("starved", "good").text("sarif"))["runs"][0];
  CHECK(run["tool"]["driver"]["rules"].size() >= 31);
  for (const Json& rule : run["tool"]["driver"]["rules"])
    CHECK(contains(rule["help"]["markdown"].get<std::string>(), "How to fix it"));
  std::map<std::string, Json> by_rule;
  for (const Json& r : run["results"]) {
    by_rule[r["ruleId"]] = r;
    CHECK(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "good.sqlite");
  }
  CHECK(by_rule["data-loader-starvation"]["baselineState"] == "absent");
  CHECK(by_rule["data-loader-starvation"]["kind"] == "pass");
  CHECK(result_of(Json::parse(GateRun("fed", "good").text("sarif")),
                  "unfused-norm")["baselineState"] == "unchanged");
  const Json starved =
      result_of(Json::parse(GateRun("good", "starved").text("sarif")), "data-loader-starvation");
  CHECK(starved["baselineState"] == "new");
  CHECK(starved["level"] == "error");
  CHECK(starved["rank"].get<double>() == doctest::Approx(71).epsilon(0.02));
}

TEST_CASE(
    "SARIF: a range around a launch that names a source line is the place of a finding, for "
    "annotations too") {
  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/eager.sqlite", dir / "run.sqlite");
  run_sql(dir / "run.sqlite",
          "UPDATE NVTX_EVENTS SET text = 'model/attention.py:57 ' || text WHERE text IN "
          "('forward', 'backward');"
          "UPDATE NVTX_EVENTS SET text = "
          "'/usr/lib/python3.11/site-packages/torch/optim/adamw.py:12' WHERE text = 'optimizer'");
  const How here{"", dir / ""};
  const Json sarif = json_of(advise("run.sqlite --format sarif", here));
  bool attention = false;
  for (const Json& r : sarif["runs"][0]["results"]) {
    const Json& place = r["locations"][0]["physicalLocation"];
    if (r["ruleId"] == "unfused-softmax")
      attention = place["artifactLocation"]["uri"] == "model/attention.py" &&
                  place["region"]["startLine"] == 57;
    CHECK(!contains(place.dump(), "site-packages"));
  }
  CHECK(attention);
  CHECK(contains(advise("run.sqlite --format github", here).out,
                 "file=model/attention.py,line=57,title=gh-advise%3A unfused-softmax::"));
  CHECK(contains(advise("run.sqlite -v", here).out, "model/attention.py:57"));
  bool in_json = false;
  const Json report = report_of(advise("run.sqlite --format json", here));
  for (const Json& f : report["findings"])
    for (const Json& e : f["evidence"]) in_json = in_json || e["source"] == "model/attention.py:57";
  CHECK(in_json);
  // A report elsewhere on the disk is named by its name: GitHub takes relative paths only.
  CHECK(json_of(advise(GH_FIXTURES "/good.sqlite --format sarif",
                       here))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
                             ["artifactLocation"]["uri"] == "good.sqlite");
}
