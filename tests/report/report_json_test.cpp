// JSON of a report, held to schemas/report.schema.json and to what its numbers have to say
// together.
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "analysis/step_time.hpp"
#include "support/program.hpp"
#include "support/rules.hpp"
#include "support/schema.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

namespace {

// A rule that finds something with everything a finding may have, and one that fails.
struct TeamRules {
  TempDir dir;
  TeamRules() {
    write_file(dir / "full.lua",
               rule_text("team-full",
                         "    return { { message = 'main', data = { share = 0.5 }, subject = 'it', "
                         "recoverable_ns = 1e15, confidence = 'low', advice = { 'Do it.' },\n"
                         "      metrics = { { name = 'm', value = 1.5, unit = 'bytes/s' } }, "
                         "evidence = trace:ops { kind = 'kernel' }:evidence { most = 1 } } }"));
    write_file(dir / "broken.lua", rule_text("team-broken", "    error('boom')"));
  }
  std::string option() const { return " --rules " + quoted(dir / ""); }
};

// Each recorded report's document.
const std::map<std::string, Json>& documents_of_recordings() {
  static const auto all = [] {
    std::map<std::string, Json> documents;
    for (const std::string& name : recording_names())
      documents[name] = report_of(advise(name + ".sqlite --format json"));
    return documents;
  }();
  return all;
}

// A small document in which every field occurs: each list has one element.
Json one_of_each_field() {
  const TeamRules rules;
  write_file(rules.dir / "gh-advise.toml",
             "[[suppress]]\nrule = 'unfused-norm'\nreason = 'the norm is being replaced'\nuntil = "
             "2999-12-31\n");
  Json all = report_of(advise("starved.sqlite --format json --config '" +
                              (rules.dir / "gh-advise.toml").string() + "'" + rules.option()));
  const Json graphs = report_of(advise("compile-graphs.sqlite --format json"));
  all["not_checked"] = graphs["not_checked"];
  all["coverage"] = graphs["coverage"];
  all["periodic_events"] =
      report_of(advise("unit-queue-runs-dry.sqlite --format json"))["periodic_events"];
  const Json loop = report_of(advise("unit-train-then-generate.sqlite --format json"));
  all["segments"][0]["repeats"] = loop["segments"].back()["repeats"];
  all["segments"][0]["loop"] = loop["segments"].back()["loop"];
  all["segments"][0]["units"] = {{{"name", "frame"}, {"count", 4}, {"fraction", 0.5}}};
  all["waits"] = report_of(advise("syncs-pageable.sqlite --format json"))["waits"];
  all["problems"] = {"some rows"};
  all["program"]["runners"] = {"DDP"};
  all["unit"]["levels"] = {{{"name", "micro-batch"}, {"count", 8}}};
  all["findings"] =
      Json::array({all["findings"][1]});  // data-loader-starvation; the team's rule comes first
  all["findings"][0]["after"] = {"0123456789abcdef"};
  all["findings"][0]["layers"] = {
      {{"path", "blocks.*.attn"}, {"count", 2}, {"of", 8}, {"share", 0.9}}};
  all["findings"][0]["owner"] = "aten::item";
  all["findings"][0]["owner_key"] = "sampled";
  for (Json& suppressed : all["suppressed"]) {
    suppressed["owner"] = "aten::item";
    suppressed["owner_key"] = "sampled";
    suppressed["after"] = {"0123456789abcdef"};
    suppressed["layers"] = all["findings"][0]["layers"];
  }
  const std::function<void(Json&)> cut = [&](Json& value) {
    if (value.is_array() && value.size() > 1 && !value[0].is_number())
      value.erase(value.begin() + 1, value.end());
    for (Json& part : value)
      if (part.is_structured()) cut(part);
  };
  cut(all);
  return all;
}

std::int64_t sum_ns(const Json& account) {
  std::int64_t ns = 0;
  for (const Json& line : account) ns += line["ns"].get<std::int64_t>();
  return ns;
}

}  // namespace

TEST_CASE("JSON: what is printed of every report keeps to the schema" * slow_with_sanitizers) {
  REQUIRE(documents_of_recordings().size() >= 21);
  std::vector<std::string> names;
  std::vector<Json> all;
  const auto add = [&](const std::string& name, const Json& document) {
    names.push_back(name);
    all.push_back(document);
  };
  for (const auto& [name, document] : documents_of_recordings()) add(name, document);

  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "idle.sqlite");
  run_sql(dir / "idle.sqlite",
          "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP "
          "TABLE CUPTI_ACTIVITY_KIND_MEMSET");
  const Json idle = report_of(advise("idle.sqlite --format json", {"", dir / ""}));
  CHECK(idle["window_ns"] == 0);
  CHECK(idle["devices"].empty());
  CHECK(idle["account"].empty());
  CHECK(idle["clean"].empty());  // nothing was looked at
  add("without GPU work", idle);
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "start.sqlite");
  run_sql(dir / "start.sqlite",
          "DELETE FROM NVTX_EVENTS; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start > (SELECT "
          "MIN(start) + 60000000 FROM CUPTI_ACTIVITY_KIND_KERNEL)");
  const Json start = report_of(advise("start.sqlite --format json", {"", dir / ""}));
  CHECK(start["steps"]["found"] == false);
  CHECK(start["plan"]["replay"]["steps"] == 1);
  CHECK(start["plan"]["of"] == "window");
  CHECK(start["path"]["of"] == "window");
  for (const Json& f : start["findings"]) {  // a window is never taken for a step
    CHECK(f["recoverable_of"] == "window");
    CHECK(f["predicted_step_ns"].is_null());
    CHECK(f["predicted_step_range_ns"].is_null());
  }
  CHECK(std::any_of(start["findings"].begin(), start["findings"].end(),
                    [](const Json& f) { return !f["predicted_window_ns"].is_null(); }));
  add("without steps", start);
  add("one step", report_of(advise("starved.sqlite --format json --steps 3")));
  CHECK(all.back()["plan"].is_null());  // it has no beginning that is known
  add("some steps", report_of(advise("starved.sqlite --format json --steps 3:4")));
  add("a range", report_of(advise("starved.sqlite --format json --range backward")));
  const TeamRules rules;
  add("team rules", report_of(advise("um-umtouch-full.sqlite --format json" + rules.option())));
  CHECK(all.back()["failed"].size() == 1);
  const Json document = json_of(advise("starved.sqlite ddp.sqlite --format json"));
  for (const Json& report : document["reports"]) add("one of several", report);

  const auto verdict = verdicts("schemas/report.schema.json", all);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK_MESSAGE(verdict[i] == "valid", names[i], ": ", verdict[i]);
  CHECK(support::verdict("schemas/reports.schema.json", document) == "valid");
  CHECK(all[all.size() - 4]["steps"]["source"] == "selected_range");
  CHECK(all[all.size() - 5]["steps"]["count"] == 2);
}

TEST_CASE("JSON: the schema requires every field, knows its type, and allows no other") {
  const Json good = one_of_each_field();
  std::vector<Broken> all = broken(good);
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, Json>>{{"/schema_version", 2},
                                                 {"/summary/verdict", ""},
                                                 {"/account/0/label", ""},
                                                 {"/window_ns", -1},
                                                 {"/window_ns", 1.5},
                                                 {"/account/0/fraction", 1.01},
                                                 {"/account/0/fraction", -0.1},
                                                 {"/account/0/ns", 0},
                                                 {"/account/0/cause", "idle.tea"},
                                                 {"/findings/0/severity", "fatal"},
                                                 {"/findings/0/confidence", "certain"},
                                                 {"/findings/0/recoverable_ns", -1},
                                                 {"/findings/0/recoverable_fraction", 1.01},
                                                 {"/findings/0/fingerprint", "0x1"},
                                                 {"/findings/0/rule", "Upper Case"},
                                                 {"/findings/0/metrics/0/unit", "furlongs"},
                                                 {"/findings/0/evidence/0/layer", ""},
                                                 {"/findings/0/layers/0/count", 0},
                                                 {"/findings/0/layers/0/share", 1.01},
                                                 {"/steps/source", "tea leaves"},
                                                 {"/devices/0/ordinal", -1},
                                                 {"/devices/0/compute_capability", "9"},
                                                 {"/not_checked/0/reason", ""}}) {
    all.push_back(with_value(good, pointer, value));
  }
  REQUIRE(all.size() > 150);
  std::vector<Json> documents{good};
  for (const Broken& b : all) documents.push_back(b.document);
  const auto verdict = verdicts("schemas/report.schema.json", documents);
  CHECK(verdict[0] == "valid");
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK_MESSAGE(verdict[i + 1] != "valid", "passes: ", all[i].how);
}

TEST_CASE("JSON: every field of the schemas has a description") {
  for (const char* name :
       {"report.schema.json", "reports.schema.json", "facts.schema.json", "layers.schema.json"}) {
    const Json all = read_schema(std::string("schemas/") + name);
    const std::function<void(const Json&, const std::string&)> look = [&](const Json& part,
                                                                          const std::string& path) {
      if (!part.is_structured()) return;
      if (part.contains("properties"))
        for (const auto& [key, value] : part["properties"].items()) {
          if (path.ends_with("/if")) continue;
          const Json& target =
              value.contains("$ref") && value["$ref"].get<std::string>().starts_with("#")
                  ? all[Json::json_pointer(value["$ref"].get<std::string>().substr(1))]
                  : value;
          CHECK_MESSAGE((value.contains("description") || target.contains("description") ||
                         !target.contains("type")),
                        name, path, "/", key);
        }
      for (const auto& [key, value] : part.items()) look(value, path + "/" + key);
    };
    look(all, "");
  }
}

TEST_CASE(
    "JSON: the account adds up to the window to the nanosecond, on every device of every report") {
  for (const auto& [name, report] : documents_of_recordings()) {
    INFO(name);
    CHECK(report["window_ns"].get<std::int64_t>() > 0);
    CHECK(sum_ns(report["account"]) == report["window_ns"].get<std::int64_t>());
    std::map<std::string, std::int64_t> causes;
    std::int64_t window = 0, steps = 0;
    for (const Json& device : report["devices"]) {
      CHECK(sum_ns(device["account"]) == device["window_ns"].get<std::int64_t>());
      window += device["window_ns"].get<std::int64_t>();
      steps += device["steps"]["count"].get<std::int64_t>();
      for (const Json& line : device["account"])
        causes[line["cause"]] += line["ns"].get<std::int64_t>();
    }
    CHECK(window == report["window_ns"].get<std::int64_t>());
    CHECK(steps == report["steps"]["count"].get<std::int64_t>());
    CHECK(causes.size() == report["account"].size());
    for (const Json& line : report["account"]) {
      CHECK(line["ns"].get<std::int64_t>() == causes[line["cause"]]);
      const double step = report["steps"]["ns"];
      CHECK(std::abs(line["fraction"].get<double>() * step - line["ns_per_step"].get<double>()) <=
            1);
    }
  }
}

TEST_CASE(
    "JSON: findings come best first, worth a part of the step, each rule in exactly one list") {
  const auto rules = json_of(advise("rules --format json"))["rules"];
  bool any = false;
  for (const auto& [name, report] : documents_of_recordings()) {
    INFO(name);
    const double step = report["steps"]["ns"];
    std::pair<bool, double> before{
        false, 1};  // notes come last; what follows from a finding stands behind it
    std::map<std::string, std::set<std::string>> where;
    for (const Json& f : report["findings"]) {
      any = true;
      const double fraction = f["recoverable_fraction"];
      if (f["follows_from"].is_null() && !f["masked"]) {  // those are behind all of today
        const std::pair<bool, double> here{f["severity"] == "note", fraction};
        CHECK((here.first > before.first ||
               (here.first == before.first && here.second <= before.second)));
        before = here;
      }
      CHECK(std::abs(f["recoverable_ns"].get<double>() - fraction * step) < 1);
      where[f["rule"]].insert("findings");
      for (const Json& e : f["evidence"])
        CHECK(e["start_ns"].get<std::int64_t>() <= e["end_ns"].get<std::int64_t>());
    }
    for (const Json& id : report["clean"]) where[id].insert("clean");
    for (const Json& n : report["not_checked"]) where[n["rule"]].insert("not_checked");
    CHECK(report["failed"].empty());
    CHECK(where.size() == rules.size());
    for (const auto& [id, lists] : where) CHECK_MESSAGE(lists.size() == 1, id);
  }
  CHECK(any);
  // No fix gives back more than the step, whatever a rule says.
  const TeamRules team;
  const Json first = report_of(advise("ddp.sqlite --format json" + team.option()))["findings"][0];
  CHECK(first["rule"] == "team-full");
  CHECK(first["recoverable_fraction"] == 1);
}

TEST_CASE("JSON: the plan goes down step by step, each fix one of the findings, within its range") {
  std::size_t plans = 0, fixes = 0;
  for (const auto& [name, report] : documents_of_recordings()) {
    INFO(name);
    const Json& plan = report["plan"];
    if (plan.is_null()) continue;
    ++plans;
    CHECK(plan["step_ns"] <= plan["recorded_step_ns"]);
    CHECK(plan["step_range_ns"] == report["steps"]["range_ns"]);
    // A fix makes no step longer than the step may take as it is.
    const double most = std::max(plan["step_range_ns"][1].get<double>(),
                                 (1 + gh::run_to_run) * plan["step_ns"].get<double>());
    double before = plan["step_ns"];
    for (const Json& fix : plan["fixes"]) {
      ++fixes;
      const auto f =
          std::find_if(report["findings"].begin(), report["findings"].end(),
                       [&](const Json& x) { return x["fingerprint"] == fix["fingerprint"]; });
      REQUIRE(f != report["findings"].end());
      CHECK((*f)["rule"] == fix["rule"]);
      if (&fix == &plan["fixes"][0]) {  // the best alone is the first together
        CHECK((*f)["predicted_step_ns"] == fix["step_ns"]);
        CHECK((*f)["predicted_step_range_ns"] == fix["step_range_ns"]);
      }
      CHECK(fix["step_range_ns"][1].get<double>() <= most + 1);
      CHECK(fix["step_ns"].get<double>() <= 0.98 * before + 1);
      CHECK(fix["step_range_ns"][0] <= fix["step_ns"]);
      CHECK(fix["step_ns"] <= fix["step_range_ns"][1]);
      before = fix["step_ns"];
    }
    for (const Json& f : report["findings"])
      if (!f["predicted_step_ns"].is_null()) {
        CHECK(f["predicted_step_range_ns"][0] <= f["predicted_step_ns"]);
        CHECK(f["predicted_step_ns"] <= f["predicted_step_range_ns"][1]);
        CHECK(f["predicted_step_range_ns"][1].get<double>() <= most + 1);
        CHECK(f["alone_range_ns"].is_null() == f["masked"].get<bool>());
        if (!f["masked"]) {
          CHECK(f["alone_range_ns"][0] <= f["alone_ns"]);
          CHECK(f["alone_ns"] <= f["alone_range_ns"][1]);
        }
        // Of a fix that may lose, and so is to be tried, a forecast says what it saves at most.
        const bool to_try = f["predicted_step_range_ns"][1] > plan["step_ns"] &&
                            f["severity"] == "note" && f["recoverable_is"] == "at_most";
        // Nor is a saving a limit that may well be exceeded.
        if (!f["masked"] && !to_try) {
          const bool may_be_more = f["alone_ns"] > 0 && 4 * (f["alone_range_ns"][1].get<double>() -
                                                             f["alone_ns"].get<double>()) >
                                                            f["alone_ns"].get<double>();
          CHECK(f["recoverable_is"] ==
                (plan["ceiling"].is_null() || may_be_more ? "about" : "at_most"));
        }
        if (!plan["ceiling"].is_null())
          CHECK(f["predicted_step_range_ns"][1] >=
                plan["step_ns"]);  // the fix may be worth nothing
      }
  }
  CHECK(plans >= 23);
  CHECK(fixes >= 30);
}

TEST_CASE("JSON: the fingerprint survives recording again and another selection of steps") {
  const auto of = [](const Json& report, const char* rule) {
    for (const Json& f : report["findings"])
      if (f["rule"] == rule) return f["fingerprint"].get<std::string>();
    return std::string("not found");
  };
  // The same program, recorded with and without GPU metrics, and some of its steps only.
  const std::string one = of(documents_of_recordings().at("eager"), "unfused-softmax");
  CHECK(one != "not found");
  CHECK(of(documents_of_recordings().at("gpumetrics"), "unfused-softmax") == one);
  CHECK(of(report_of(advise("eager.sqlite --format json --steps 2:3")), "unfused-softmax") == one);
  CHECK(of(documents_of_recordings().at("starved"), "data-loader-starvation") != one);
}
