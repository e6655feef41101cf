// `gh-advise gate` and `baseline` on recordings: what fails, what passes, and what cannot be told.
#include <algorithm>

#include "support/program.hpp"

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

}  // namespace

TEST_CASE("gate: a window has no steps to compare, and --unit window says so") {
  const Ran ran = advise("gate good.sqlite --baseline good.sqlite --unit window");
  CHECK(ran.status == 2);
  CHECK(contains(ran.err, "--unit window: steps are compared, and a window has none"));
}

TEST_CASE("gate: each problem that comes in fails by name, and gone it passes as an improvement") {
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
    CHECK(contains(in.json["reasons"].dump(), rule + " is new"));
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
    "be compared" *
    slow_with_sanitizers) {
  for (const std::string& name : recording_names()) {
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
  CHECK(contains(made.err, "wrote the baseline of 2 captures to"));
  const Json by_file = json_of(advise("gate starved.sqlite --baseline " + file + " --format json")),
             by_reports = json_of(advise(
                 "gate starved.sqlite --baseline good.sqlite --baseline fed.sqlite --format json"));
  CHECK(by_file == by_reports);
  CHECK(by_file["step"]["basis"] == "16 steps against 11");
  const Ran again = advise("gate good.sqlite fed.sqlite --baseline " + file);
  CHECK(again.status == 2);  // what the baseline was made of is no change
  CHECK(contains(again.out, "good.sqlite is the same recording as good.sqlite; record the change"));
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
  const std::string no_ranges = copy_of("no-ranges.sqlite", "DROP TABLE NVTX_EVENTS"),
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
  CHECK(
      contains(advise("gate " + no_calls + " --baseline good.sqlite").out, "holds no CUDA calls"));
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

TEST_CASE("gate: a copy of a capture neither passes nor counts twice" * slow_with_sanitizers) {
  const TempDir dir;
  std::filesystem::copy_file(GH_FIXTURES "/good.sqlite", dir / "run.sqlite");
  std::filesystem::create_symlink(GH_FIXTURES "/good.sqlite", dir / "link.sqlite");
  const std::string copy = quoted(run_sql(dir / "run.sqlite", "CREATE TABLE of_mine (x)")),
                    link = quoted(dir / "link.sqlite"), baseline = quoted(dir / "baseline.json");
  CHECK(advise("baseline good.sqlite -o " + baseline).status == 0);
  for (const std::string& other : {copy, link, std::string("good.sqlite")}) {
    CAPTURE(other);
    const Ran ran = advise("gate " + other + " --baseline " + baseline);
    CHECK(ran.status == 2);
    CHECK(contains(ran.out, "is the same recording as"));
  }
  CHECK(advise("gate " + copy + " --baseline good.sqlite").status == 2);
  CHECK(advise("gate " + link + " --baseline good.sqlite").status == 2);
  // By hand, a report may be held against itself.
  CHECK(advise("gate good.sqlite --baseline good.sqlite").status == 0);
  for (const std::string& arguments :
       {"gate good.sqlite " + copy + " --baseline fed.sqlite",
        "gate fed.sqlite --baseline good.sqlite --baseline " + copy,
        "gate fed.sqlite --baseline " + baseline + " --baseline good.sqlite",
        "baseline good.sqlite " + copy + " -o " + quoted(dir / "twice.json")}) {
    CAPTURE(arguments);
    const Ran ran = advise(arguments);
    CHECK(ran.status == 2);
    CHECK(contains(ran.err, "is the same recording as"));
    CHECK(contains(ran.err, "a capture counts once"));
  }
}

TEST_CASE("gate: settings, rules and baseline cannot be changed along with a merge unseen") {
  const TempDir dir;
  const std::string baseline = quoted(dir / "baseline.json");
  CHECK(advise("baseline good.sqlite -o " + baseline).status == 0);
  const auto judge = [&](const std::string& toml, const std::string& arguments = "") {
    write_file(dir / "gh-advise.toml", toml);
    return advise("gate starved.sqlite --baseline " + baseline + " --config " +
                  quoted(dir / "gh-advise.toml") + " " + arguments);
  };
  CHECK(judge("").status == 1);
  const std::string quiet = "[rule.data-loader-starvation]\nseverity = 'note'\n",
                    endless = "[[suppress]]\nrule = 'data-loader-starvation'\nreason = 'r'\n";
  for (const std::string& toml :
       {std::string("[gate]\nalpha = 0\nnoise_floor = 1\nmin_effect = 1\n"), quiet, endless,
        quiet + endless, std::string("ignore = ['data-loader-starvation']\n")}) {
    CAPTURE(toml);
    const Ran ran = judge(toml);
    CHECK(ran.status == 2);
    CHECK(contains(ran.out, "Cannot tell: the settings differ from the baseline's: "));
    CHECK(contains(ran.out, "--accept-settings"));
  }
  const Ran meant = judge(endless, "--accept-settings");
  CHECK(meant.status == 0);
  CHECK(contains(meant.out, "baseline's: the suppression of data-loader-starvation"));
  // A rule of the merge's own in the place of the program's.
  const std::string rule = read_file(GH_SOURCE_DIR "/rules/input/data-loader-starvation.lua");
  std::filesystem::create_directories(dir / "rules/input");
  write_file(dir / "rules/input/data-loader-starvation.lua", rule + "\n-- ours\n");
  const Ran other = judge("rules = ['rules']\n");
  CHECK(other.status == 2);
  CHECK(contains(other.out, "rule.data-loader-starvation has changed"));
  // A baseline that was edited.
  std::string text = read_file(dir / "baseline.json");
  const std::size_t step = text.find("\"step_ns\": [") + 13;
  text.insert(text.find_first_of("0123456789", step), "1");
  write_file(dir / "baseline.json", text);
  CHECK(judge("").status == 2);
  CHECK(contains(judge("").err, "it was edited or merged since it was written"));
  // One of the program's first version.
  auto old = Json::parse(text);
  old["schema_version"] = 1;
  old.erase("digest");
  old["captures"][0].erase("settings");
  write_file(dir / "baseline.json", old.dump());
  CHECK(judge("").status == 2);
  CHECK(contains(judge("").err, "was made by an older gh-advise (gh-advise 0.1.0)"));
  CHECK(contains(judge("", "--format json").out, "\"verdict\": \"cannot_tell\""));
}

TEST_CASE("gate: what --accept wrote holds from then on, and up to its cost only") {
  const TempDir dir;
  const How here{"", dir / ""};
  CHECK(advise("baseline " GH_FIXTURES "/good.sqlite -o baseline.json", here).status == 0);
  const std::string run = "gate " GH_FIXTURES "/starved.sqlite --baseline baseline.json ";
  const Ran failing = advise(run, here);
  CHECK(failing.status == 1);
  // What a failing finding names lets it pass.
  const std::string options = " --accept ";
  const std::size_t at = failing.out.find(options);
  REQUIRE(at != std::string::npos);
  const std::string id = failing.out.substr(at + options.size(), 16);
  CHECK(failing.out.substr(at + options.size() + 16).starts_with(" --reason TEXT lets it pass"));
  const Ran accepting = advise(run + options + id + " --reason r", here);
  CHECK(accepting.status == 0);
  const Ran again = advise(run, here);
  CHECK(again.status == 0);
  CHECK(again.out == accepting.out);
  CHECK(contains(again.out, "accepted since the baseline was made: data-loader-starvation"));
  CHECK(contains(again.out, "Passes: data-loader-starvation, the longer step are accepted"));
  // A baseline that knows it need not say so.
  CHECK(advise("baseline " GH_FIXTURES "/good.sqlite -o baseline.json", here).status == 0);
  const Ran known = advise(run, here);
  CHECK(known.status == 0);
  CHECK(!contains(known.out, "accepted since"));
  // Another problem is none of it, and neither is the same at a higher cost.
  CHECK(advise("gate " GH_FIXTURES "/fp32.sqlite --baseline baseline.json", here).status == 1);
  std::string toml = read_file(dir / "gh-advise.toml");
  toml.replace(toml.find("up_to = "), 8, "up_to = 1 # ");
  write_file(dir / "gh-advise.toml", toml);
  CHECK(advise(run, here).status == 1);
}

TEST_CASE("gate: an accepted finding passes the gate, and check still advises on it") {
  const TempDir dir;
  const How here{"", dir / ""};
  const std::string check = "check " GH_FIXTURES "/starved.sqlite ",
                    before = advise(check, here).out;
  CHECK(advise("gate " GH_FIXTURES "/starved.sqlite --baseline " GH_FIXTURES
               "/good.sqlite --accept data-loader-starvation --reason r",
               here)
            .status == 0);
  CHECK(contains(read_file(dir / "gh-advise.toml"), "[[accept]]"));
  CHECK(advise(check, here).out == before);
  CHECK(advise(check + "--fail-on error", here).status == 1);
  const Json report = report_of(advise(check + "--format json", here));
  CHECK(report["suppressions"].empty());
  CHECK(!report["plan"]["fixes"].empty());
}

TEST_CASE("gate: the first run says how to make a baseline") {
  const TempDir dir;
  const How here{"", dir / ""};
  std::filesystem::copy_file(GH_FIXTURES "/good.sqlite", dir / "run.sqlite");
  CHECK(error_line("gate run.sqlite", here) ==
        "gate needs --baseline FILE; for the first one, record the base branch, type `gh-advise "
        "baseline run.sqlite -o baseline.json`, and commit that file");
  CHECK(error_line("gate run.sqlite --baseline perf.json", here) ==
        "perf.json: there is no baseline yet; record the base branch, type `gh-advise baseline "
        "run.sqlite -o perf.json`, and commit that file");
  CHECK(contains(error_line("gate run.sqlite --baseline main.sqlite", here),
                 "main.sqlite: no such file"));
  // CI systems get it as well.
  CHECK(advise("gate run.sqlite --baseline perf.json --output summary.md", here).status == 2);
  CHECK(contains(read_file(dir / "summary.md"), "there is no baseline yet"));
}

TEST_CASE("gate: one figure stands for the baseline in headline, reasons, budgets and account") {
  const TempDir dir;
  write_file(dir / "gh-advise.toml",
             "[[budget]]\nfact = 'step.median_ns'\nmax_increase = 0.1\nseverity = 'error'\n");
  for (const char* config : {"none", "gh-advise.toml"})
    for (const auto& [before, after] : {std::pair("good", "starved"), {"fed", "offload"}}) {
      CAPTURE(before);
      const Json json = json_of(advise(std::string("gate " GH_FIXTURES "/") + after +
                                           ".sqlite --baseline " GH_FIXTURES "/" + before +
                                           ".sqlite --format json --config " + config,
                                       {"", dir / ""}));
      bool seen = false;
      for (const Json& b : json["budgets"])
        if (b["fact"] == "step.median_ns") {
          seen = true;
          for (const char* side : {"before", "after"})
            CHECK(b["value"][side] == json["step"][side]);
          CHECK(b["value"]["effect"] == json["step"]["effect"]);
        }
      CHECK(seen);
    }
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
            ":1: there is no numeric fact 'gpu.busy_fractoin' (did you mean "
            "'gpu.busy_fraction'?); `gh-advise facts` lists the facts\n");
  CHECK(contains(judge("[[budget]]\nfact = 'step.median_ns'\n", "fed").err,
                 ":1:1: a budget needs max, min, max_increase or max_decrease"));
  CHECK(contains(judge("[[budget]]\nmax = 1\n", "fed").err, "needs 'fact'"));
  CHECK(contains(judge("[gate]\nalpha = 2\n", "fed").err,
                 ":2:9: 'alpha' must be a share between 0 and 1"));
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

TEST_CASE("gate: --accept writes the exception into the configuration, and it holds until its day" *
          slow_with_sanitizers) {
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
  CHECK(contains(accepted.err, "wrote [[accept]] to gh-advise.toml"));
  CHECK(contains(accepted.out, "data-loader-starvation, the longer step are accepted"));
  const std::string toml = read_file(dir / "gh-advise.toml");
  CHECK(toml.starts_with(
      "[[accept]]\nrule = 'data-loader-starvation'\nsubject = 'data loader'\nreason = 'the "
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
            .starts_with("# ours\n[gate]\nmin_effect = 0.03\n\n[[accept]]\n"));
  CHECK(advise(loopopt, here).status == 0);
  CHECK(contains(advise(run, here).err,
                 "the exception of unfused-optimizer matches nothing any more; remove it"));
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
                 "nothing of that name is new, got worse or broke its budget; --accept takes "
                 "data-loader-starvation, "));
  for (const char* until :
       {"soon", "2999-1-015", "'2999- 1-01'", "2999-01-1x", "29990101", "2999/01/01"})
    CHECK(contains(
        refused(std::string("--accept data-loader-starvation --reason r --until ") + until),
        "give a day, as in 2026-12-31"));
  CHECK(contains(refused("--accept data-loader-starvation --reason r --until 2026-02-30"),
                 "give a day"));
  CHECK(contains(refused("--accept data-loader-starvation --reason r --until 2020-01-01"),
                 "is in the past"));
  CHECK(contains(refused("--reason r"), "belong to --accept"));
  CHECK(
      contains(advise("gate um.sqlite --baseline good.sqlite --accept alloc-churn --reason r").err,
               "nothing can be compared: another program"));
  // What would break the configuration is not written.
  write_file(dir / "gh-advise.toml", "accept = [ { rule = 'host-sync', reason = 'r' } ]\n");
  CHECK(contains(refused("--accept data-loader-starvation --reason r"),
                 "nothing was written: add the exception by hand"));
  // An odd byte in the reason stays out.
  write_file(dir / "gh-advise.toml", "");
  CHECK(advise(run + "--accept data-loader-starvation --reason $'caf\\xe9 x'", here).status == 0);
  CHECK(contains(read_file(dir / "gh-advise.toml"), "caf\xef\xbf\xbd x"));
}
