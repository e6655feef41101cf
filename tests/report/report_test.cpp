// What is printed: text as people see it, and JSON held to schemas/report.schema.json.
#include <functional>
#include <map>
#include <set>

#include "base/text.hpp"
#include "program.hpp"

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
  std::string option() const { return " --rules '" + (dir / "").string() + "'"; }
};

// Each recorded report's document.
const std::map<std::string, Json>& documents() {
  static const auto all = [] {
    std::map<std::string, Json> documents;
    for (const std::string& name : recorded())
      documents[name] = json_of(advise(name + ".sqlite --format json"));
    return documents;
  }();
  return all;
}

// What validate_json.py says of each document. Debian's interpreter, as the package
// python3-jsonschema is for that one.
std::vector<std::string> verdicts(const std::string& schema, const std::vector<Json>& documents) {
  const TempDir dir;
  std::string lines;
  for (const Json& d : documents) lines += d.dump() + '\n';
  write_file(dir / "documents", lines);
  const Ran ran = shell("/usr/bin/python3 '" GH_SOURCE_DIR
                        "/tests/report/validate_json.py' '" GH_SOURCE_DIR "/schemas/" +
                        schema + "' <'" + (dir / "documents").string() + "'");
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  REQUIRE(lines_of(ran.out).size() == documents.size());
  return lines_of(ran.out);
}

// A small document in which every field occurs: each list has one element.
Json one_of_each() {
  const TeamRules rules;
  write_file(rules.dir / "gh-advise.toml",
             "[[suppress]]\nrule = 'unfused-norm'\nreason = 'the norm is being replaced'\nuntil = "
             "2999-12-31\n");
  Json all = json_of(advise("starved.sqlite --format json --config '" +
                            (rules.dir / "gh-advise.toml").string() + "'" + rules.option()));
  all["not_checked"] = json_of(advise("compile-graphs.sqlite --format json"))["not_checked"];
  all["problems"] = {"some rows"};
  all["findings"] =
      Json::array({all["findings"][1]});  // data-loader-starvation; the team's rule comes first
  const std::function<void(Json&)> cut = [&](Json& value) {
    if (value.is_array() && value.size() > 1 && !value[0].is_number())
      value.erase(value.begin() + 1, value.end());
    for (Json& part : value)
      if (part.is_structured()) cut(part);
  };
  cut(all);
  return all;
}

Json schema(const char* name) {
  return Json::parse(read_file(std::string(GH_SOURCE_DIR "/schemas/") + name));
}

std::int64_t sum_ns(const Json& account) {
  std::int64_t ns = 0;
  for (const Json& line : account) ns += line["ns"].get<std::int64_t>();
  return ns;
}

}  // namespace

TEST_CASE("JSON: what is printed of every report keeps to the schema") {
  REQUIRE(documents().size() >= 21);
  std::vector<std::string> names;
  std::vector<Json> all;
  const auto add = [&](const std::string& name, const Json& document) {
    names.push_back(name);
    all.push_back(document);
  };
  for (const auto& [name, document] : documents()) add(name, document);

  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/starved.sqlite", dir / "idle.sqlite");
  run_sql(dir / "idle.sqlite",
          "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP "
          "TABLE CUPTI_ACTIVITY_KIND_MEMSET");
  const Json idle = json_of(advise("idle.sqlite --format json", {"", dir / ""}));
  CHECK(idle["window_ns"] == 0);
  CHECK(idle["devices"].empty());
  CHECK(idle["account"].empty());
  CHECK(idle["clean"].empty());  // nothing was looked at
  add("without GPU work", idle);
  add("some steps", json_of(advise("starved.sqlite --format json --steps 3:4")));
  add("a range", json_of(advise("starved.sqlite --format json --range backward")));
  const TeamRules rules;
  add("team rules", json_of(advise("um-umtouch-full.sqlite --format json" + rules.option())));
  CHECK(all.back()["failed"].size() == 1);
  for (const Json& report : json_of(advise("starved.sqlite ddp.sqlite --format json")))
    add("one of several", report);

  const auto verdict = verdicts("report.schema.json", all);
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK_MESSAGE(verdict[i] == "valid", names[i], ": ", verdict[i]);
  CHECK(all[all.size() - 4]["steps"]["source"] == "selected_range");
  CHECK(all[all.size() - 5]["steps"]["count"] == 2);
}

TEST_CASE("JSON: the schema requires every field, knows its type, and allows no other") {
  const Json good = one_of_each();
  std::vector<Json> changed{good};
  std::vector<std::string> changes{"none"};
  const std::function<void(const std::string&)> change = [&](const std::string& pointer) {
    const Json& part = good[Json::json_pointer(pointer)];
    const auto with = [&](const std::string& what, auto edit) {
      Json copy = good;
      edit(copy[Json::json_pointer(pointer)]);
      changed.push_back(std::move(copy));
      changes.push_back(what);
    };
    if (part.is_object()) {
      with("a field more in " + pointer, [](Json& p) { p["surprise"] = 1; });
      for (const auto& [key, value] : part.items()) {
        with("without " + pointer + "/" + key, [&key = key](Json& p) { p.erase(key); });
        with("another type: " + pointer + "/" + key,
             [&key = key](Json& p) { p[key] = p[key].is_structured() ? Json(1) : Json::object(); });
        if (value.is_structured()) change(pointer + "/" + key);
      }
    } else {
      REQUIRE_MESSAGE(!part.empty(), pointer, " is empty: it would go untested");
      with("another type in " + pointer,
           [](Json& p) { p[0] = p[0].is_structured() ? Json(1) : Json::object(); });
      if (part[0].is_structured()) change(pointer + "/0");
    }
  };
  change("");
  for (const auto& [pointer, value] :
       std::vector<std::pair<std::string, Json>>{{"/schema_version", 2},
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
                                                 {"/steps/source", "tea leaves"},
                                                 {"/devices/0/ordinal", -1},
                                                 {"/devices/0/compute_capability", "9"},
                                                 {"/not_checked/0/reason", ""}}) {
    Json copy = good;
    copy[Json::json_pointer(pointer)] = value;
    changed.push_back(std::move(copy));
    changes.push_back(pointer + " = " + value.dump());
  }
  REQUIRE(changed.size() > 150);
  const auto verdict = verdicts("report.schema.json", changed);
  CHECK(verdict[0] == "valid");
  for (std::size_t i = 1; i < verdict.size(); ++i)
    CHECK_MESSAGE(verdict[i] != "valid", "passes: ", changes[i]);
}

TEST_CASE("JSON: every field of the schemas has a description") {
  for (const char* name : {"report.schema.json", "facts.schema.json"}) {
    const Json all = schema(name);
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

TEST_CASE("JSON: facts keep to their schema, known ones and unknown ones") {
  std::vector<Json> all;
  for (const char* name : {"starved", "um-umtouch-full", "compile-graphs", "ddp"})
    all.push_back(json_of(advise(std::string("facts --format json ") + name + ".sqlite")));
  Json without_reason = all[0];
  bool any = false;
  for (Json& fact : without_reason["facts"]) any = any || fact.erase("unknown") > 0;
  REQUIRE(any);
  all.push_back(without_reason);
  const auto verdict = verdicts("facts.schema.json", all);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) CHECK(verdict[i] == "valid");
  CHECK(verdict.back() != "valid");
}

TEST_CASE(
    "JSON: the account adds up to the window to the nanosecond, on every device of every report") {
  for (const auto& [name, report] : documents()) {
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
      CHECK(line["fraction"].get<double>() ==
            doctest::Approx(line["ns"].get<double>() / report["window_ns"].get<double>()));
    }
  }
}

TEST_CASE(
    "JSON: findings come best first, worth a part of the step, each rule in exactly one list") {
  const auto rules = json_of(advise("rules --format json"))["rules"];
  bool any = false;
  for (const auto& [name, report] : documents()) {
    INFO(name);
    const double step = report["window_ns"].get<double>() / report["steps"]["count"].get<double>();
    std::pair<bool, double> before{
        false, 1};  // notes come last; what follows from a finding stands behind it
    std::map<std::string, std::set<std::string>> where;
    for (const Json& f : report["findings"]) {
      any = true;
      const double fraction = f["recoverable_fraction"];
      if (f["follows_from"].is_null()) {
        const std::pair<bool, double> here{f["severity"] == "note", fraction};
        CHECK((here.first > before.first ||
               (here.first == before.first && here.second <= before.second)));
        before = here;
      }
      const double of =
          f["predicted_step_ns"].is_null() ? step : report["plan"]["step_ns"].get<double>();
      CHECK(std::abs(f["recoverable_ns"].get<double>() - fraction * of) < 1);
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
  const Json first = json_of(advise("ddp.sqlite --format json" + team.option()))["findings"][0];
  CHECK(first["rule"] == "team-full");
  CHECK(first["recoverable_fraction"] == 1);
}

TEST_CASE("JSON: the plan goes down step by step, each fix one of the findings, within its range") {
  std::size_t plans = 0, fixes = 0;
  for (const auto& [name, report] : documents()) {
    INFO(name);
    const Json& plan = report["plan"];
    if (plan.is_null()) continue;
    ++plans;
    CHECK(plan["step_ns"] <= plan["recorded_step_ns"]);
    double before = plan["step_ns"];
    for (const Json& fix : plan["fixes"]) {
      ++fixes;
      const auto f =
          std::find_if(report["findings"].begin(), report["findings"].end(),
                       [&](const Json& x) { return x["fingerprint"] == fix["fingerprint"]; });
      REQUIRE(f != report["findings"].end());
      CHECK((*f)["rule"] == fix["rule"]);
      if (&fix == &plan["fixes"][0])
        CHECK((*f)["predicted_step_ns"] == fix["step_ns"]);  // the best alone is the first together
      CHECK(fix["step_ns"].get<double>() <= 0.98 * before + 1);
      CHECK(fix["step_range_ns"][0] <= fix["step_ns"]);
      CHECK(fix["step_ns"] <= fix["step_range_ns"][1]);
      before = fix["step_ns"];
    }
    for (const Json& f : report["findings"])
      if (!f["predicted_step_ns"].is_null()) {
        CHECK(f["predicted_step_range_ns"][0] <= f["predicted_step_ns"]);
        CHECK(f["predicted_step_ns"] <= f["predicted_step_range_ns"][1]);
        CHECK(f["recoverable_is"] == (plan["ceiling"].is_null() ? "about" : "at_most"));
        if (!plan["ceiling"].is_null())
          CHECK(f["predicted_step_range_ns"][1] >=
                plan["step_ns"]);  // the fix may be worth nothing
      }
  }
  CHECK(plans >= 23);
  CHECK(fixes >= 30);
}

TEST_CASE(
    "text: the plan stands before the findings, and no forecast is made where the replay does not "
    "fit") {
  const std::string starved = advise("starved.sqlite").out,
                    unlike = advise("alloc-churn.sqlite").out;
  CHECK(contains(starved, "What the fixes are worth together\n"));
  CHECK(starved.find("What the fixes") < starved.find("1. error"));
  CHECK(contains(starved, " now → "));
  CHECK(contains(starved, " after 1 and 2\n"));
  CHECK(contains(unlike, "What the fixes are worth together, at most\n"));
  CHECK(contains(unlike, "No forecast: the replayed steps differ from all by 2.5 %"));
  CHECK(contains(unlike, "no less than "));
  CHECK(!contains(unlike, "once measured"));
  // Collectives hold the wait for other ranks, and stalls of single steps are not in the replayed
  // ones: nothing is predicted.
  for (const char* report : {"ddp-straggler.sqlite", "checkpoint-stall.sqlite"}) {
    const Ran ran = advise(report);
    CHECK(!contains(ran.out, "What the fixes are worth together"));
    CHECK(!contains(ran.out, "with this fix alone"));
    CHECK(contains(ran.out, "1. error: "));
  }
}

TEST_CASE("JSON: the fingerprint survives recording again and another selection of steps") {
  const auto of = [](const Json& report, const char* rule) {
    for (const Json& f : report["findings"])
      if (f["rule"] == rule) return f["fingerprint"].get<std::string>();
    return std::string("not found");
  };
  // The same program, recorded with and without GPU metrics, and some of its steps only.
  const std::string one = of(documents().at("eager"), "unfused-softmax");
  CHECK(one != "not found");
  CHECK(of(documents().at("gpumetrics"), "unfused-softmax") == one);
  CHECK(of(json_of(advise("eager.sqlite --format json --steps 2:3")), "unfused-softmax") == one);
  CHECK(of(documents().at("starved"), "data-loader-starvation") != one);
}

TEST_CASE("two runs print the same bytes") {
  for (const char* name : {"ddp", "um-umtouch-full", "eager-autogradnvtx", "lora"})
    for (const char* how : {"", " --format json"})
      CHECK(advise(std::string(name) + ".sqlite" + how).out ==
            advise(std::string(name) + ".sqlite" + how).out);
  CHECK(advise("facts --format json ddp.sqlite").out ==
        advise("facts --format json ddp.sqlite").out);
}

TEST_CASE("text: no line is longer than the terminal is wide, and none ends in spaces") {
  for (const char* name :
       {"starved", "offload", "lora", "um-umtouch-full", "compile-graphs", "ddp", "eager"})
    for (const char* command : {"", "facts "})
      for (const std::size_t width : {60, 80, 120}) {
        std::size_t longest = 0;
        for (const std::string& line : lines_of(advise(std::string(command) + name + ".sqlite",
                                                       {"COLUMNS=" + std::to_string(width)})
                                                    .out)) {
          const std::size_t text = line.find_first_not_of(' ');
          const bool one_word =
              text != line.npos && line.find(' ', text) == line.npos;  // it cannot be broken
          CHECK_MESSAGE((gh::display_width(line) <= width || one_word), name, " at ", width, ": ",
                        line);
          CHECK_MESSAGE((line.empty() || line.back() != ' '), name, ": ", line);
          longest = std::max(longest, gh::display_width(line));
        }
        CHECK(longest + 20 > std::min<std::size_t>(width, 110));  // and the width is used
      }
}

TEST_CASE("text: a number and its unit stay on one line") {
  for (const char* name : {"starved", "offload", "lora", "um-umtouch-full", "eager"})
    for (const std::size_t width : {60, 73, 80, 87, 100})
      for (const std::string& line : lines_of(
               advise(std::string(name) + ".sqlite", {"COLUMNS=" + std::to_string(width)}).out)) {
        const std::string word = line.substr(std::min(line.find_first_not_of(' '), line.size()));
        CHECK_MESSAGE((!word.starts_with("% ") && !word.starts_with("%)") &&
                       !word.starts_with("ms ") && !word.starts_with("us ")),
                      name, " at ", width, ": ", line);
      }
}

TEST_CASE(
    "text: says where time went before it says what to fix, and what a finding is worth in its "
    "first line") {
  const std::string text = advise("starved.sqlite").out;
  REQUIRE(contains(text, "Where a step goes (mean)\n  idle: input "));
  CHECK(text.find("Where a step goes") <
        text.find("1. error: The GPU waits for the data loader, worth at most "));
  CHECK(contains(advise("starved.sqlite --range backward").out, "stretches of "));
  CHECK(contains(advise("ddp.sqlite").out, "Where a step goes (mean over devices)"));
  // In a terminal that has no UTF-8 bars are drawn with #.
  CHECK(contains(on_terminal("starved.sqlite", {"LC_ALL=C"}).out, "71 %  ####"));
  CHECK(contains(on_terminal("starved.sqlite").out, "71 %  ███"));
}

TEST_CASE(
    "text: a clean report says what was checked, and what could not be and how to record it") {
  const std::string clean = advise("good.sqlite").out;
  CHECK(contains(clean, "Checked and clean: "));
  CHECK(contains(clean, "Not checked: clock-throttle, tensor-idle: needs samples"));
  CHECK(contains(advise("good.sqlite --select memory").out,
                 "Nothing was found by the rules that could look."));
  const std::string graphs = advise("compile-graphs.sqlite --select unfused-softmax").out;
  CHECK(!contains(graphs, "Nothing was found"));  // nobody looked
  CHECK(!contains(graphs, "Checked and clean"));
  CHECK(contains(graphs, "Not checked: unfused-softmax: "));
  CHECK(contains(graphs, "nsys profile --cuda-graph-trace=node"));
}

// The texts as a user sees them. After a change that is meant, look at each with your own eyes,
// then
//   GH_UPDATE_GOLDEN=1 build/release/tests/engine_tests -tc='text: golden*'
// writes them anew; the difference goes into the commit.
TEST_CASE("text: golden outputs") {
  for (const char* name :
       {"starved", "good", "offload", "um-umtouch-full", "compile-graphs", "eager"}) {
    const Ran ran = advise(std::string(name) + ".sqlite", {"COLUMNS=100"});
    CHECK(ran.status == 0);
    CHECK(ran.err == "");
    const std::filesystem::path golden =
        std::filesystem::path(GH_SOURCE_DIR "/tests/report/golden") / (name + std::string(".txt"));
    if (std::getenv("GH_UPDATE_GOLDEN")) write_file(golden, ran.out);
    if (std::filesystem::exists(golden) && read_file(golden) == ran.out) continue;
    const TempDir dir;
    write_file(dir / "printed", ran.out);
    FAIL_CHECK(
        shell("diff -uN '" + golden.string() + "' '" + (dir / "printed").string() + "'").out);
  }
}

TEST_CASE("trace: evidence, steps and account stand on the time axis of the report") {
  for (const char* name : {"starved.sqlite", "eager.pt.trace.json", "ddp.sqlite"}) {
    CAPTURE(name);
    const TempDir dir;
    const Json report = json_of(advise(std::string(name) + " --format json --output trace='" +
                                       (dir / "t.json").string() + "'"));
    const Json trace = Json::parse(read_file(dir / "t.json"));
    // Times as text: in a double nanoseconds since 1970 would be lost.
    const std::string text = read_file(dir / "t.json");
    std::vector<std::string> original;
    if (std::string(name).ends_with(".json")) {
      const Json all = Json::parse(read_file(std::string(GH_FIXTURES "/") + name));
      for (const Json& e : all["traceEvents"])
        if (e.value("cat", "") == "kernel") original.push_back(e["ts"].dump());
    }
    std::size_t evidence = 0, steps = 0, on_kernels = 0, spans = 0;
    std::map<std::string, double> account_ms;
    for (const Json& e : trace["traceEvents"]) {
      if (e["ph"] == "C")
        for (const auto& [cause, ms] : e["args"].items()) account_ms[cause] += ms.get<double>();
      if (e["ph"] != "X") continue;
      if (e["pid"] == 4'000'000'000) {
        ++spans;
        on_kernels += std::any_of(original.begin(), original.end(), [&](const std::string& ts) {
          return std::abs(std::stod(ts) - e["ts"].get<double>()) < 0.001;
        });
      }
      steps += e["name"].get<std::string>().starts_with("step ");
    }
    for (const Json& f : report["findings"]) evidence += f["evidence"].size();
    CHECK(spans == evidence);
    CHECK(spans > 0);
    CHECK(steps == report["steps"]["count"]);
    for (const Json& line : report["account"])
      CHECK(account_ms[line["cause"]] == doctest::Approx(line["ns"].get<double>() / 1e6));
    if (!original.empty())
      CHECK(on_kernels > 0);
    else
      CHECK(contains(
          text,
          "\"ts\":" +
              std::to_string(report["findings"][0]["evidence"][0]["start_ns"].get<std::int64_t>() /
                             1000) +
              "."));
  }
  CHECK(contains(advise("good.sqlite starved.sqlite --output trace=x").err, "of one report"));
}
