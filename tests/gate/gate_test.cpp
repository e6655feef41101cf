// baseline, gate and diff on the real program, and what CI systems are given.
#include <algorithm>
#include <fstream>

#include "program.hpp"
#include "rules/finding.hpp"

using namespace support;
using Json = nlohmann::ordered_json;

namespace {

struct Gate {
  int status;
  Json json;
  std::string headline() const { return json["headline"]; }
};

Gate gate(const std::string& before, const std::string& after, const std::string& arguments = "") {
  const Ran ran = advise("gate " + after + ".sqlite --baseline " + before +
                         ".sqlite --format json " + arguments);
  return {ran.status, json_of(ran)};
}

std::vector<std::string> rules_that(const Json& comparison, const std::string& change,
                                    bool failing) {
  std::vector<std::string> rules;
  for (const Json& f : comparison["findings"])
    if (f["change"] == change && f["fails"] == failing) rules.push_back(f["rule"]);
  return rules;
}

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

// A gate run in a folder of its own, with every format written to a file there.
struct EveryFormat {
  TempDir dir;
  Ran ran;
  EveryFormat(const std::string& before, const std::string& after) {
    std::string outputs;
    for (const char* format : {"sarif", "markdown", "junit", "github", "json"})
      outputs += std::string(" --output ") + format + "=" +
                 (dir / (std::string("out.") + format)).string();
    ran = advise("gate " + after + ".sqlite --baseline " + before + ".sqlite" + outputs);
  }
  std::string text(const std::string& format) const { return read_file(dir / ("out." + format)); }
};

// What the SARIF Multitool says against a file, errors and warnings, with its rules for GitHub. It
// misses an address of the tool's own site, which there is none of.
std::vector<std::string> sarif_faults(const std::filesystem::path& file) {
  const std::string tool = GH_NPM "/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool";
  REQUIRE_MESSAGE(std::filesystem::exists(tool), "not there: ./dev test installs it");
  const Ran ran =
      shell("chmod u+x '" + tool + "' && DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 '" + tool +
            "' validate " + quoted(file) + " --rule-kind 'Sarif;Ghas' --level 'Error;Warning'");
  REQUIRE(contains(ran.out, "Analyzing..."));
  std::vector<std::string> faults;
  for (const std::string& line : lines_of(ran.out))
    if ((contains(line, ": error ") || contains(line, ": warning ")) &&
        !contains(line, "SARIF2005"))
      faults.push_back(line);
  return faults;
}

}  // namespace

TEST_CASE(
    "gate: each problem that comes in fails and is named; gone, it passes and the improvement is "
    "told") {
  for (const auto& [report, rule] :
       std::vector<std::pair<std::string, std::string>>{{"starved", "data-loader-starvation"},
                                                        {"fp32", "non-tensor-core-gemm"},
                                                        {"eager", "unfused-softmax"},
                                                        {"offload", "offload-sync-gap"},
                                                        {"syncs-pageable", "host-sync"},
                                                        {"loopopt", "unfused-optimizer"}}) {
    CAPTURE(report);
    const Gate in = gate("good", report);
    CHECK(in.status == 1);
    CHECK(in.json["verdict"] == "regressed");
    CHECK(has(rules_that(in.json, "new", true), rule));
    CHECK(in.headline().starts_with("Regressed: " + rule));
    CHECK(contains(in.json["reasons"].dump(), rule + " came in"));
    const Gate out = gate(report, "good");
    CHECK(out.status == 0);
    CHECK(has(rules_that(out.json, "gone", false), rule));
    CHECK(contains(out.headline(), rule + " is gone"));
    CHECK(out.json["step"]["real"] == true);
    CHECK(out.json["step"]["effect"] < 0);
  }
}

TEST_CASE(
    "gate: a report against itself passes, a second recording as well, and another program cannot "
    "be compared") {
  for (const std::string& name : recorded()) {
    CAPTURE(name);
    const Gate same = gate(name, name);
    CHECK(same.status == 0);
    CHECK(same.json["step"]["effect"] == 0);
    CHECK(rules_that(same.json, "new", false).empty());
    CHECK(rules_that(same.json, "gone", false).empty());
  }
  CHECK(gate("good", "fed").status == 0);
  CHECK(gate("fed", "good").status == 0);
  const Gate other = gate("good", "um");
  CHECK(other.status == 2);
  CHECK(other.json["verdict"] == "cannot_tell");
  CHECK(other.headline() ==
        "Cannot tell: another program: 8 attention blocks a step where the baseline has 12.");
  CHECK(other.json["reasons"].empty());
  CHECK(gate("um", "good").status == 2);
}

TEST_CASE("gate: a baseline of several captures stands for the reports that it was made of") {
  const TempDir dir;
  const std::string file = quoted(dir / "baseline.json");
  const Ran made = advise("baseline good.sqlite fed.sqlite -o " + file);
  CHECK(made.status == 0);
  CHECK(made.out == "");
  CHECK(contains(made.err, "a baseline of 2 captures written to"));
  const Json by_file = json_of(advise("gate starved.sqlite --baseline " + file + " --format json")),
             by_reports = json_of(advise(
                 "gate starved.sqlite --baseline good.sqlite --baseline fed.sqlite --format json"));
  CHECK(by_file == by_reports);
  CHECK(by_file["step"]["basis"] == "16 steps against 11");
  CHECK(advise("gate good.sqlite fed.sqlite --baseline " + file).status == 0);
  CHECK(advise("gate um.sqlite --baseline " + file).status == 2);
  CHECK(advise("diff " + file + " starved.sqlite").status == 0);
  // A part of a report can be kept and judged.
  CHECK(advise("baseline starved.sqlite --steps 3:6 -o " + file).status == 0);
  CHECK(advise("gate starved.sqlite --steps 7:11 --baseline " + file).status == 0);
}

TEST_CASE("gate: an empty, broken or poorer capture never passes, on either side") {
  const TempDir dir;
  const auto copy_of = [&](const std::string& name, const std::string& sql) {
    std::filesystem::copy_file(GH_FIXTURES "/good.sqlite", dir / name);
    return quoted(run_sql(dir / name, sql));
  };
  const std::string empty =
      copy_of("empty.sqlite",
              "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; "
              "DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET");
  const std::string no_kernels =
      copy_of("no-kernels.sqlite", "DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
  const std::string no_ranges = copy_of("no-ranges.sqlite", "DELETE FROM NVTX_EVENTS"),
                    no_waits = copy_of("no-waits.sqlite", "DROP TABLE OSRT_API");
  for (const std::string& capture : {no_ranges, no_waits}) {
    CHECK(advise("gate " + capture + " --baseline good.sqlite").status == 2);
    CHECK(advise("gate good.sqlite --baseline " + capture).status == 2);
    CHECK(advise("gate " + capture + " --baseline " + capture).status == 0);
  }
  const std::string damaged = copy_of(
      "damaged.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET end = 'x' WHERE rowid % 10 = 3");
  CHECK(contains(advise("gate " + damaged + " --baseline good.sqlite").out, "is in doubt"));
  const std::string no_calls = copy_of("no-calls.sqlite", "DROP TABLE CUPTI_ACTIVITY_KIND_RUNTIME");
  const std::string broken = quoted(write_file(dir / "broken.sqlite", "not a database"));
  const std::string truncated = quoted(write_file(
      dir / "truncated.sqlite", read_file(GH_FIXTURES "/good.sqlite").substr(0, 100'000)));
  for (const std::string& capture :
       {empty, no_kernels, no_calls, broken, truncated, std::string("missing.sqlite")}) {
    CAPTURE(capture);
    CHECK(advise("gate " + capture + " --baseline good.sqlite").status == 2);
    CHECK(advise("gate good.sqlite " + capture + " --baseline good.sqlite").status == 2);
    if (capture == no_calls) continue;  // poor, but what it holds can be kept
    CHECK(advise("gate good.sqlite --baseline " + capture).status == 2);
    CHECK(advise("baseline " + capture + " -o " + quoted(dir / "b.json")).status == 2);
    CHECK(!std::filesystem::exists(dir / "b.json"));
  }
  CHECK(contains(advise("gate " + empty + " --baseline good.sqlite").out,
                 "holds no GPU work; record it again"));
  CHECK(contains(advise("gate " + no_calls + " --baseline good.sqlite").out, "holds no calls"));
  CHECK(advise("baseline good.sqlite um.sqlite -o " + quoted(dir / "b.json")).err ==
        "gh-advise: no baseline was written: another program: 8 attention blocks a step where the "
        "baseline has 12\n");
  // CI looks at files, also where nothing could be read.
  const std::string files = " --output sarif=" + quoted(dir / "s") +
                            " --output markdown=" + quoted(dir / "m") +
                            " --output junit=" + quoted(dir / "j");
  CHECK(advise("gate " + broken + " --baseline good.sqlite" + files).status == 2);
  CHECK(contains(read_file(dir / "m"), "Cannot tell: "));
  CHECK(contains(read_file(dir / "j"), "errors=\"1\""));
  CHECK(Json::parse(read_file(dir / "s"))["runs"][0]["invocations"][0]["executionSuccessful"] ==
        false);
}

TEST_CASE("gate: budgets and what is taken for noise come from the configuration") {
  const TempDir dir;
  const auto judge = [&](const std::string& toml, const std::string& report,
                         const std::string& arguments = "") {
    write_file(dir / "gh-advise.toml", toml);
    return advise("gate " + report + ".sqlite --baseline good.sqlite --config " +
                  quoted(dir / "gh-advise.toml") + " " + arguments);
  };
  CHECK(judge("[[budget]]\nfact = 'gpu.busy_fraction'\nmin = 0.97\n", "fed").status == 1);
  CHECK(contains(judge("[[budget]]\nfact = 'gpu.busy_fraction'\nmin = 0.97\n", "fed").out,
                 "Regressed: gpu.busy_fraction breaks its budget"));
  CHECK(judge("[[budget]]\nfact = 'gpu.busy_fraction'\nmin = 0.97\nseverity = 'note'\n", "fed")
            .status == 0);
  CHECK(judge("[[budget]]\nfact = 'gpu.busy_fraction'\nmin = 0.90\n", "fed").status == 0);
  CHECK(judge("[[budget]]\nfact = 'mfu.fraction'\nmin = 0.4\n", "fed").status == 2);
  CHECK(judge("[gate]\nmin_effect = 0.1\nfail_on = 'error'\n", "loopopt").status == 0);
  CHECK(judge("[gate]\nmin_effect = 0.1\n", "loopopt", "--fail-on note").status ==
        0);  // the finding is new, too small to fail alone
  CHECK(judge("[[budget]]\nfact = 'gpu.busy_fractoin'\nmin = 0.9\n", "fed").err ==
        "gh-advise: " + (dir / "gh-advise.toml").string() +
            ":1: there is no fact 'gpu.busy_fractoin' with a number (did you mean "
            "'gpu.busy_fraction'?); `gh-advise facts` lists them\n");
  CHECK(contains(judge("[[budget]]\nfact = 'step.median_ns'\n", "fed").err,
                 ":1:1: a budget needs max, min, max_increase or max_decrease"));
  CHECK(contains(judge("[[budget]]\nmax = 1\n", "fed").err, "needs 'fact'"));
  CHECK(
      contains(judge("[gate]\nalpha = 2\n", "fed").err, ":2:9: 'alpha' has to be between 0 and 1"));
  CHECK(contains(judge("[gate]\nalhpa = 0.1\n", "fed").err,
                 "unknown key 'alhpa' (did you mean 'alpha'?)"));
  const std::string config = advise("config", {"", dir / ""}).err;
  CHECK(contains(config, "alhpa"));
  write_file(dir / "gh-advise.toml",
             "[gate]\nmin_effect = 0.05\n[[budget]]\nfact = 'step.median_ns'\nmax = 5e7\n");
  const std::string shown = advise("config", {"", dir / ""}).out;
  CHECK(contains(shown, "min_effect = 0.05"));
  CHECK(contains(shown, "fact = \"step.median_ns\"\nmax = 50000000"));
}

TEST_CASE(
    "gate: --accept writes the exception into the configuration, and it holds until its day") {
  const TempDir dir;
  const How here{"", dir / ""};
  const std::string run =
      "gate " GH_FIXTURES "/starved.sqlite --baseline " GH_FIXTURES "/good.sqlite ";
  CHECK(advise(run, here).status == 1);
  const Ran accepted = advise(run +
                                  "--accept data-loader-starvation --reason 'the \"new\" loader "
                                  "lands next week' --until 2999-12-31",
                              here);
  CHECK(accepted.status == 0);
  CHECK(contains(accepted.err, "written to gh-advise.toml"));
  CHECK(contains(accepted.out, "data-loader-starvation, the longer step are accepted"));
  const std::string toml = read_file(dir / "gh-advise.toml");
  CHECK(toml.starts_with(
      "[[suppress]]\nrule = 'data-loader-starvation'\nsubject = 'data loader'\nreason = 'the "
      "\"new\" loader lands next week'\nuntil = 2999-12-31\nup_to = 1"));  // nanoseconds: a fifth
                                                                           // above 113 ms
  CHECK(advise(run, here).status == 0);
  CHECK(contains(advise(run + "--format markdown", here).out,
                 "the \"new\" loader lands next week, until 2999-12-31 ("));
  // The next exception goes below; what stood there stays as it was written.
  write_file(dir / "gh-advise.toml", "# ours\n[gate]\nmin_effect = 0.03");
  const std::string id = gate("good", "loopopt").json["findings"][0]["fingerprint"],
                    loopopt = "gate " GH_FIXTURES "/loopopt.sqlite --baseline " GH_FIXTURES
                              "/good.sqlite ";
  CHECK(
      advise(loopopt + "--accept " + id + " --accept step.median_ns --reason known", here).status ==
      0);
  CHECK(read_file(dir / "gh-advise.toml")
            .starts_with("# ours\n[gate]\nmin_effect = 0.03\n\n[[suppress]]\n"));
  CHECK(advise(loopopt, here).status == 0);
  CHECK(contains(advise(run, here).err,
                 "the suppression of unfused-optimizer matches nothing any more; take it out"));
  write_file(dir / "gh-advise.toml",
             "[[suppress]]\nrule = 'data-loader-starvation'\nreason = 'r'\nuntil = 2020-01-01\n");
  CHECK(advise(run, here).status == 1);
  CHECK(contains(advise(run, here).err,
                 "the suppression of data-loader-starvation expired after 2020-01-01"));

  const auto refused = [&](const std::string& arguments) {
    const std::string before = read_file(dir / "gh-advise.toml");
    const Ran ran = advise(run + arguments, here);
    CHECK(ran.status == 2);
    CHECK(read_file(dir / "gh-advise.toml") == before);
    return ran.err;
  };
  CHECK(contains(refused("--accept data-loader-starvation"), "--accept needs --reason"));
  CHECK(contains(refused("--accept host-sync --reason r"),
                 "nothing of that name came in, got worse or broke its budget; these did: "
                 "data-loader-starvation, "));
  for (const char* until :
       {"soon", "2999-1-015", "'2999- 1-01'", "2999-01-1x", "29990101", "2999/01/01"})
    CHECK(contains(
        refused(std::string("--accept data-loader-starvation --reason r --until ") + until),
        "give a day, as in 2026-12-31"));
  CHECK(contains(refused("--accept data-loader-starvation --reason r --until 2026-02-30"),
                 "give a day"));
  CHECK(contains(refused("--accept data-loader-starvation --reason r --until 2020-01-01"),
                 "is past"));
  CHECK(contains(refused("--reason r"), "belong to --accept"));
  CHECK(
      contains(advise("gate um.sqlite --baseline good.sqlite --accept alloc-churn --reason r").err,
               "nothing can be compared: another program"));
  // What would break the configuration is not written.
  write_file(dir / "gh-advise.toml", "suppress = [ { rule = 'host-sync', reason = 'r' } ]\n");
  CHECK(contains(refused("--accept data-loader-starvation --reason r"),
                 "nothing was written: add the suppression by hand"));
  // An odd byte in the reason stays out.
  write_file(dir / "gh-advise.toml", "");
  CHECK(advise(run + "--accept data-loader-starvation --reason $'caf\\xe9 x'", here).status == 0);
  CHECK(contains(read_file(dir / "gh-advise.toml"), "caf\xef\xbf\xbd x"));
}

TEST_CASE("gate: several formats are written in one run, and each says the same") {
  const EveryFormat in("good", "starved");
  CHECK(in.ran.status == 1);
  CHECK(in.ran.out == advise("gate starved.sqlite --baseline good.sqlite").out);
  for (const char* format : {"sarif", "markdown", "junit", "github", "json"}) {
    CHECK_MESSAGE(contains(in.text(format), "data-loader-starvation"), format);
    CHECK_MESSAGE(
        in.text(format) ==
            advise(std::string("gate starved.sqlite --baseline good.sqlite --format ") + format)
                .out,
        format);
  }
  const TempDir dir;
  CHECK(advise("starved.sqlite --format json --output " + quoted(dir / "plain") +
               " --output sarif=" + quoted(dir / "s"))
            .out == "");
  CHECK(Json::parse(read_file(dir / "plain"))["report"]["path"] == "starved.sqlite");
  CHECK(contains(
      advise("starved.sqlite --output srif=x").err,
      "there is no format 'srif' (did you mean 'sarif'?); a file of that name is ./srif=x"));
  CHECK(contains(advise("starved.sqlite --output sarif=").err, "names no file"));
  CHECK(contains(advise("starved.sqlite --output a --output b").err,
                 "a second file needs its format"));
  const std::string file = quoted(dir / "b.json");
  CHECK(advise("baseline good.sqlite -o " + file).status == 0);
  CHECK(contains(advise("gate fed.sqlite --baseline " + file + " --output json=" + file).err,
                 "is what is read; name another file"));
  CHECK(contains(
      advise("gate fed.sqlite --baseline " + file + " --output json=/tmp/x --output sarif=/tmp/x")
          .err,
      "is given twice"));
  CHECK(contains(advise("gate " + file + " --baseline good.sqlite").err,
                 "is a baseline; a report is wanted here"));
  CHECK(
      contains(advise("gate fed.sqlite fed.sqlite --baseline good.sqlite").err, "is named twice"));
  write_file(dir / "stale", "old");
  CHECK(advise("gate missing.sqlite --baseline good.sqlite --format junit --output " +
               quoted(dir / "stale"))
            .status == 2);
  CHECK(contains(read_file(dir / "stale"), "no report could be read"));
  write_file(dir / "stale", "old");
  CHECK(advise("fed.sqlite --select host-sync --output github=" + quoted(dir / "stale")).status ==
        0);
  CHECK(read_file(dir / "stale") == "");  // nothing to annotate
  CHECK(advise("gate $'\\xff.sqlite' --baseline good.sqlite --output json=" + quoted(dir / "odd"))
            .status == 2);
  CHECK(contains(read_file(dir / "odd"), "Cannot tell"));
  CHECK(contains(advise("diff good.sqlite fed.sqlite --output sarif=x").err,
                 "there is no format 'sarif'"));
}

TEST_CASE("gate: SARIF is valid, by GitHub's rules too, and says what became of each finding") {
  for (const auto& [before, after] : std::vector<std::pair<const char*, const char*>>{
           {"good", "starved"}, {"offload", "good"}, {"good", "um"}}) {
    CAPTURE(after);
    const EveryFormat all(before, after);
    for (const std::string& fault : sarif_faults(all.dir / "out.sarif")) FAIL_CHECK(fault);
  }
  const TempDir dir;
  CHECK(advise("um-umtouch-full.sqlite starved.sqlite ddp.sqlite --output sarif=" +
               quoted(dir / "check.sarif"))
            .status == 0);
  for (const std::string& fault : sarif_faults(dir / "check.sarif")) FAIL_CHECK(fault);
  // The tool does find what is wrong: GitHub wants a location of each result.
  Json bad = Json::parse(read_file(dir / "check.sarif"));
  bad["runs"][0]["results"][0].erase("locations");
  write_file(dir / "bad.sarif", bad.dump());
  CHECK(!sarif_faults(dir / "bad.sarif").empty());

  const Json run = Json::parse(EveryFormat("starved", "good").text("sarif"))["runs"][0];
  CHECK(run["tool"]["driver"]["rules"].size() >= 31);
  for (const Json& rule : run["tool"]["driver"]["rules"])
    CHECK(contains(rule["help"]["markdown"].get<std::string>(), "How to fix it"));
  std::map<std::string, Json> by_rule;
  for (const Json& r : run["results"]) {
    by_rule[r["ruleId"]] = r;
    CHECK(r["partialFingerprints"]["ghAdvise/v1"].get<std::string>().size() == 16);
    CHECK(r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "good.sqlite");
    CHECK(r["rank"] >= 0);
    CHECK(run["tool"]["driver"]["rules"][r["ruleIndex"].get<std::size_t>()]["id"] == r["ruleId"]);
  }
  CHECK(by_rule["data-loader-starvation"]["baselineState"] == "absent");
  CHECK(by_rule["data-loader-starvation"]["kind"] == "pass");
  const Json alike = Json::parse(EveryFormat("fed", "good").text("sarif"))["runs"][0]["results"];
  CHECK(std::any_of(alike.begin(), alike.end(), [](const Json& r) {
    return r["ruleId"] == "unfused-norm" && r["baselineState"] == "unchanged";
  }));
  const Json now = Json::parse(EveryFormat("good", "starved").text("sarif"))["runs"][0]["results"];
  const auto starved = std::find_if(now.begin(), now.end(), [](const Json& r) {
    return r["ruleId"] == "data-loader-starvation";
  });
  CHECK((*starved)["baselineState"] == "new");
  CHECK((*starved)["level"] == "error");
  CHECK((*starved)["rank"].get<double>() == doctest::Approx(71).epsilon(0.02));
}

TEST_CASE(
    "check: SARIF and annotations point to the source line that a range around the launch names") {
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
  CHECK(contains(advise("run.sqlite", here).out, "model/attention.py:57"));
  bool in_json = false;
  const Json report = json_of(advise("run.sqlite --format json", here));
  for (const Json& f : report["findings"])
    for (const Json& e : f["evidence"]) in_json = in_json || e["source"] == "model/attention.py:57";
  CHECK(in_json);
  // A report elsewhere on the disk is named by its name: GitHub takes relative paths only.
  CHECK(json_of(advise(GH_FIXTURES "/good.sqlite --format sarif",
                       here))["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
                             ["artifactLocation"]["uri"] == "good.sqlite");
}

TEST_CASE("gate: annotations, JUnit and Markdown name what failed, and foreign text stays text") {
  const EveryFormat all("good", "starved");
  const auto github = lines_of(all.text("github"));
  CHECK(github.at(0).starts_with(
      "::error title=gh-advise::Regressed: data-loader-starvation came in"));
  CHECK(std::count_if(github.begin(), github.end(), [](const std::string& l) {
          return l.starts_with(
              "::error file=starved.sqlite,title=gh-advise%3A data-loader-starvation::[new] ");
        }) == 1);
  for (const std::string& line : github) CHECK(line.starts_with("::"));
  const std::string junit = all.text("junit");
  CHECK(contains(junit, "failures=\"2\" errors=\"0\""));
  CHECK(contains(junit,
                 "<testcase classname=\"gh-advise.input\" name=\"data-loader-starvation\">\n      "
                 "<failure type=\"data-loader-starvation\" message=\"[new] The GPU waits"));
  CHECK(contains(junit,
                 "<testcase classname=\"gh-advise.compute\" name=\"clock-throttle\">\n      "
                 "<skipped message=\"needs samples"));
  CHECK(contains(junit, "<testcase classname=\"gh-advise.launch\" name=\"host-sync\"/>"));
  CHECK(shell("/usr/bin/python3 -c \"import xml.dom.minidom, sys; "
              "xml.dom.minidom.parse(sys.argv[1])\" " +
              quoted(all.dir / "out.junit"))
            .status == 0);
  const std::string markdown = all.text("markdown");
  CHECK(markdown.starts_with("## ❌ gh-advise\n\n**Regressed: data-loader-starvation came in;"));
  CHECK(contains(markdown, "| **new** | error | `data-loader-starvation` |"));
  CHECK(contains(markdown, "| idle: input | 0 ns | 118.0 ms | +118.0 ms |"));
  CHECK(EveryFormat("starved", "good")
            .text("markdown")
            .starts_with("## ✅ gh-advise\n\n**Passes: data-loader-starvation is gone;"));
  CHECK(EveryFormat("good", "um")
            .text("markdown")
            .starts_with("## ❔ gh-advise\n\n**Cannot tell: another program"));
  CHECK(contains(EveryFormat("good", "um").text("junit"), "<error message=\"another program"));

  const TempDir dir;
  write_file(dir / "hostile.lua",
             rule_text("hostile", finds("0.5"))
                 .replace(rule_text("hostile", finds("0.5")).find("Share {share:fraction}."), 23,
                          "a\\n::warning::b | <script>x</script> @everyone `c` & 100%"));
  const std::string rules =
      "good.sqlite --select hostile --rules " + quoted(dir / "") + " --fail-on note --format ";
  CHECK(lines_of(advise(rules + "github").out).size() == 1);
  CHECK(contains(advise(rules + "github").out, "100%25"));
  CHECK(contains(advise(rules + "junit").out, "&lt;script&gt;x&lt;/script&gt;"));
  const std::string summary = advise(rules + "markdown").out;
  CHECK(contains(summary, "\\| \\<script\\>"));
  CHECK(!contains(summary, "@everyone"));
}

TEST_CASE("diff: shows what changed, the costliest first, and judges nothing") {
  const Ran ran = advise("diff good.sqlite loopopt.sqlite");
  CHECK(ran.status == 0);
  CHECK(contains(ran.out, "47.4 ms -> 49.7 ms, +5.0 %"));
  CHECK(contains(ran.out, "compute: pointwise      18.5 ms ->    21.9 ms     +3.41 ms"));
  CHECK(contains(ran.out, "  new      warning unfused-optimizer: "));
  CHECK(contains(ran.out, "  same     warning unfused-norm: "));
  CHECK(contains(
      ran.out,
      "      -1.74 ms  1.74 ms -> 0 ns in 17 -> 0 of\n                multi_tensor_apply_kernel<"));
  CHECK(contains(ran.out, "kernels.per_step                            775 ->         1213"));
  const Json json = json_of(advise("diff good.sqlite loopopt.sqlite --format json"));
  double last = 1e300;
  for (const Json& k : json["kernels"]) {
    const double change = std::abs(k["ns_after"].get<double>() - k["ns_before"].get<double>());
    CHECK(change <= last);
    last = change;
  }
  CHECK(advise("diff good.sqlite um.sqlite").status == 0);
  CHECK(contains(advise("diff good.sqlite um.sqlite").out,
                 "What cannot be compared\n  - another program"));
  CHECK(advise("diff good.sqlite missing.sqlite").status == 2);
  CHECK(contains(advise("diff good.sqlite").err, "REPORT"));
}

TEST_CASE("gate: JSON of comparisons and baselines keeps to its schema") {
  const TempDir dir;
  CHECK(advise("baseline ddp.sqlite -o " + quoted(dir / "b.json")).status == 0);
  const auto verdict = [&](const std::string& schema, const std::string& document) {
    write_file(dir / "lines", Json::parse(document).dump() + "\n");
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR
                 "/tests/report/validate_json.py' '" GH_SOURCE_DIR "/schemas/" +
                 schema + "' <" + quoted(dir / "lines"))
        .out;
  };
  CHECK(verdict("baseline.schema.json", read_file(dir / "b.json")) == "valid\n");
  for (const char* pair :
       {"starved.sqlite --baseline good.sqlite", "good.sqlite --baseline offload.sqlite",
        "um.sqlite --baseline good.sqlite"})
    CHECK_MESSAGE(verdict("comparison.schema.json",
                          advise(std::string("gate ") + pair + " --format json").out) == "valid\n",
                  pair);
}

TEST_CASE("CI: the steps of the GitHub action judge, write the summary and hand SARIF on") {
  const TempDir dir;
  const auto action = [&](const std::string& inputs) {
    std::filesystem::remove(dir / "summary");
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/gate/run_steps.py' '" GH_SOURCE_DIR
                 "/.github/actions/gh-advise/action.yml' summary=" +
                 quoted(dir / "summary") + " " + inputs);
  };
  const std::string program = "input.program='" GH_PROGRAM "' ";
  const Ran red = action(program + "input.report=starved.sqlite input.baseline=good.sqlite");
  CHECK(red.status == 1);
  CHECK(
      contains(red.out, "::error file=starved.sqlite,title=gh-advise%3A data-loader-starvation::"));
  CHECK(contains(red.out, "uses: github/codeql-action/upload-sarif@"));
  CHECK(contains(red.out, "output verdict: regressed"));
  CHECK(contains(read_file(dir / "summary"), "Regressed: data-loader-starvation came in"));
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
  CHECK(action(program +
               "input.report=starved.sqlite input.baseline=good.sqlite input.fail-on=nonsense")
            .status == 2);
  CHECK(action(
            "input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM)
            .status == 2);  // of unknown contents
  CHECK(
      action("input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM
             " input.sha256=$(sha256sum '" GH_PROGRAM "' | cut -d' ' -f1)")
          .status == 0);
  CHECK(
      action("input.report=good.sqlite input.baseline=good.sqlite input.download=file://" GH_PROGRAM
             " input.sha256=$(sha256sum good.sqlite | cut -d' ' -f1)")
          .status != 0);
}

TEST_CASE("CI: the GitLab example fails and passes like the program, and leaves its reports") {
  const TempDir dir;
  const auto job = [&](const std::string& report) {
    return shell("/usr/bin/python3 '" GH_SOURCE_DIR "/tests/gate/run_steps.py' '" GH_SOURCE_DIR
                 "/.gitlab/gh-advise.gitlab-ci.yml' GH_ADVISE='" GH_PROGRAM "' REPORT='" GH_FIXTURES
                 "/" +
                     report + ".sqlite' BASELINE='" GH_FIXTURES "/good.sqlite'",
                 {"", dir / ""})
        .status;
  };
  CHECK(job("starved") == 1);
  CHECK(contains(read_file(dir / "gh-advise.xml"), "failures=\"2\""));
  CHECK(contains(read_file(dir / "gh-advise.md"), "Regressed"));
  CHECK(job("fed") == 0);
  CHECK(job("um") == 2);
}
