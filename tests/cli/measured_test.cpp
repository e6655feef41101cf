// `--measured-step`: what it takes and refuses, the file beside a report, and that every format
// then speaks of one step.
#include "support/program.hpp"
#include "support/schema.hpp"

using namespace support;
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

// A report in a folder of its own, with what is said of it beside.
struct Beside {
  TempDir dir;
  explicit Beside(const std::string& measured = "") {
    fs::create_symlink(fs::path(GH_FIXTURES) / "launchbound.sqlite", dir / "run.sqlite");
    if (!measured.empty()) write_file(dir / "run.measured.json", measured);
  }
  How how() const { return {"", dir / ""}; }
  Json json(const std::string& more = "") const {
    return report_of(advise("run.sqlite --format json" + more, how()));
  }
};

}  // namespace

TEST_CASE("measured step: a time is taken with its unit, however it is written") {
  const std::string ms = advise("launchbound.sqlite --measured-step 16.5ms").out;
  for (const char* same : {"'16.5 ms'", "0.0165s", "16500us", "16500000ns"})
    CHECK(advise(std::string("launchbound.sqlite --measured-step ") + same).out == ms);
  CHECK(advise("launchbound.sqlite --measured-step launchbound.sqlite=16.5ms").out == ms);
  CHECK(ms != advise("launchbound.sqlite").out);
}

TEST_CASE("measured step: what is no time, or of no report, is refused") {
  for (const std::string& bad :
       std::vector<std::string>{"16.5", "ms", "0ms", "-3ms", "infs", "nanms", "1e300s",
                                "'16.5 days'", "16.5msx", "launchbound.sqlite=16.5"})
    CHECK_MESSAGE(contains(error_line("launchbound.sqlite --measured-step=" + bad),
                           "give a time above 0 with its unit, as in 16.5ms"),
                  bad);
  CHECK(error_line("launchbound.sqlite --measured-step lunchbound.sqlite=16.5ms") ==
        "--measured-step lunchbound.sqlite=16.5ms: 'lunchbound.sqlite' is not one of the reports "
        "(did "
        "you mean 'launchbound.sqlite'?)");
  CHECK(error_line("launchbound.sqlite --measured-step 1ms --measured-step 2ms") ==
        "--measured-step: is given twice for one report");
  CHECK(error_line("good.sqlite fed.sqlite --measured-step 46.4ms") ==
        "--measured-step 46.4ms: which of the 2 reports? Write --measured-step "
        "good.sqlite=46.4ms");
  CHECK(contains(error_line("diff good.sqlite fed.sqlite --measured-step 46.4ms"),
                 "which of the 2 reports?"));
}

TEST_CASE("measured step: of several reports each has its own") {
  const Json both = json_of(
      advise("good.sqlite fed.sqlite --format json --measured-step fed.sqlite=47.1ms"))["reports"];
  CHECK(both[0]["steps"]["measured_ns"].is_null());
  CHECK(both[1]["steps"]["measured_ns"] == 47'100'000);
  // The ranks of a job wait for each other: one step.
  const Json job = report_of(
      advise("ddp.rank0.pt.trace.json ddp.rank1.pt.trace.json --format json --measured-step 50ms"));
  CHECK(job["steps"]["measured_ns"] == 50'000'000);
}

TEST_CASE("measured step: what lies beside a report is read with it, and the option replaces it") {
  const std::string file =
      R"({"schema_version":1,"unit":"step","measured_step_ns":16500000,"samples":10})";
  const Beside beside(file);
  CHECK(verdict("schemas/measured.schema.json", Json::parse(file)) == "valid");
  CHECK(beside.json()["steps"]["measured_ns"] == 16'500'000);
  CHECK(beside.json(" --measured-step 17ms")["steps"]["measured_ns"] == 17'000'000);
  CHECK(contains(on_one_line(advise("run.sqlite", beside.how()).out),
                 "A step takes 16.5 ms, measured without the profiler (run.measured.json, the mean "
                 "of 10); recorded, it took 20.5 ms."));
  CHECK(contains(error_line("run.measured.json", beside.how()),
                 "give the report itself, and this file is read too"));
  CHECK(contains(advise("facts run.sqlite", beside.how()).out, "capture.overhead_fraction"));
  // Later versions may say more.
  CHECK(Beside(R"({"schema_version":1,"measured_step_ns":16500000,"gpu_clock_hz":[1,2]})")
            .json()["steps"]["measured_ns"] == 16'500'000);
}

TEST_CASE("measured step: a file beside a report that is damaged, or of another unit, ends well") {
  for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
           {"{", "is not JSON"},
           {"[]", "it is not a JSON object"},
           {"{}", "'schema_version' is missing"},
           {R"({"schema_version":2,"measured_step_ns":1})",
            "another version of gh-advise wrote it"},
           {R"({"schema_version":1})", "'measured_step_ns' is missing"},
           {R"({"schema_version":1,"measured_step_ns":0})", "a whole number of at least 1"},
           {R"({"schema_version":1,"measured_step_ns":-5})", "a whole number of at least 1"},
           {R"({"schema_version":1,"measured_step_ns":1.5})", "a whole number of at least 1"},
           {R"({"schema_version":1,"measured_step_ns":1e99})", "a whole number of at least 1"},
           {R"({"schema_version":1,"measured_step_ns":5,"samples":0})", "'samples' must be"},
           {R"({"schema_version":1,"measured_step_ns":5,"unit":7})",
            "'unit' must be a non-empty string"}}) {
    const Beside beside(text);
    const std::string line = error_line("run.sqlite", beside.how());
    CHECK_MESSAGE(line.starts_with("run.measured.json: "), line);
    CHECK_MESSAGE(contains(line, what), line);
  }
  const Beside other(R"({"schema_version":1,"unit":"request","measured_step_ns":16500000})");
  const Ran ran = advise("run.sqlite --format json", other.how());
  CHECK(report_of(ran)["steps"]["measured_ns"].is_null());
  CHECK(contains(on_one_line(advise("run.sqlite", other.how()).out),
                 "The measured request of 16.5 ms (run.measured.json) is not used: what repeats "
                 "here is called training step"));
}

TEST_CASE("measured step: every format speaks of it as the step now") {
  const std::string measured = "launchbound.sqlite --measured-step 16.5ms";
  const Json json = report_of(advise(measured + " --format json"));
  CHECK(verdict("schemas/report.schema.json", json) == "valid");
  CHECK(json["plan"]["step_ns"] == 16'500'000);
  CHECK(json["plan"]["step_range_ns"] == Json{16'500'000, 16'500'000});
  CHECK(json["plan"]["step_is"] == "measured");
  std::size_t predicted = 0;
  for (const Json& f : json["findings"]) {
    if (f["predicted_step_ns"].is_null() || f["masked"]) continue;
    ++predicted;
    CHECK(f["predicted_step_ns"].get<long>() + f["alone_ns"].get<long>() == 16'500'000);
    CHECK(f["recoverable_fraction"].get<double>() ==
          doctest::Approx(f["recoverable_ns"].get<double>() / 16'500'000));
  }
  CHECK(predicted > 0);
  const std::string text = advise(measured, {"COLUMNS=160"}).out,
                    page = advise(measured + " --format html").out,
                    markdown = advise(measured + " --format markdown").out;
  CHECK(contains(text, " 16.5 ms → "));
  CHECK(contains(text, "of each 16.5 ms step"));
  CHECK(contains(text, "Where a step goes"));
  CHECK(contains(page, "as it is, measured without the profiler"));
  for (const std::string& format : {text, page, markdown})
    CHECK(
        contains(format, "A step takes 16.5 ms, measured without the profiler (--measured-step)"));
  for (const std::string& format : {text, page})
    CHECK(!contains(format, "without the profiler's overhead"));
  const Json facts = json_of(advise("facts --format json " + measured));
  for (const Json& f : facts["facts"])
    if (f["name"] == "step.measured_ns") CHECK(f["value"] == 16'500'000);
}

TEST_CASE("measured step: the gate keeps it, and says where only one side has one") {
  const TempDir dir;
  const std::string baseline = (dir / "b.json").string();
  CHECK(advise("baseline good.sqlite --measured-step 46.4ms -o " + baseline).status == 0);
  const Json kept = Json::parse(read_file(baseline));
  CHECK(kept["captures"][0]["facts"]["step.measured_ns"]["value"] == 46'400'000);
  const std::string one_side = "was measured without the profiler on one side only";
  CHECK(contains(advise("gate fed.sqlite --baseline " + baseline).out, one_side));
  CHECK(!contains(
      advise("gate fed.sqlite --measured-step fed.sqlite=47.1ms --baseline " + baseline).out,
      one_side));
}

TEST_CASE("measured step: one that no step can be is said, and forecasts nothing") {
  const Json longer = report_of(advise("launchbound.sqlite --format json --measured-step 30ms"));
  CHECK(contains(longer.dump(), "A profiler only adds time"));
  CHECK(contains(longer["plan"]["ceiling"].dump(), "is longer than the recorded one"));
  const Json shorter = report_of(advise("launchbound.sqlite --format json --measured-step 2.5ms"));
  CHECK(contains(shorter["plan"]["ceiling"].dump(), "by more than a profiler is known to add"));
  for (const Json& report : {longer, shorter})
    for (const Json& f : report["findings"])
      if (!f["predicted_step_ns"].is_null()) CHECK(f["recoverable_is"] == "at_most");
  // Kernels take as long without the profiler: below their time it is no step of this program.
  const std::string impossible = "launchbound.sqlite --measured-step 1us";
  CHECK(report_of(advise(impossible + " --format json"))["plan"]["step_is"] == "replayed");
  CHECK(contains(on_one_line(advise(impossible).out), "is not used: the GPU alone worked for "));
}
