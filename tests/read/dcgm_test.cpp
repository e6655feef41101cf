// DCGM's samples of a recording: both formats, aligning them to the steps, and input that is not
// from DCGM.
#include "read/dcgm.hpp"

#include <fmt/format.h>

#include "analysis/facts.hpp"
#include "analysis/metrics.hpp"
#include "read/sqlite.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"
#include "trace/metric_names.hpp"

using namespace gh;
using support::contains;
using support::write_file;

namespace {

constexpr std::int64_t epoch_s = 1'700'000'000;

// Ten seconds of one kernel on device 0, in a report that contains the date unless told otherwise.
Trace ten_seconds(bool dated = true) {
  Trace t = trace_from_text(
      R"(return { ops = { { 0, 10000000, kernel = "a" } }, not_collected = { "samples" } })");
  if (dated) t.epoch_ns = epoch_s * 1'000'000'000;
  return t;
}

struct Read {
  std::vector<std::string> notes;
  Analysis analysis;
  Facts facts;
  explicit Read(std::pair<Trace, std::vector<std::string>> made)
      : notes(std::move(made.second)),
        analysis(std::move(made.first), Classes(), {}),
        facts(analysis) {}
  double number(const std::string& fact) const {
    CAPTURE(fact);
    REQUIRE(std::holds_alternative<double>(facts.value(fact)));
    return std::get<double>(facts.value(fact));
  }
  std::string shown_fact(const std::string& fact) const {
    return shown(facts.value(fact), Unit::text);
  }
};

std::pair<Trace, std::vector<std::string>> with(Trace trace, const std::string& text) {
  const support::TempDir dir;
  auto notes = add_dcgm(trace, write_file(dir / "dcgm", text));
  return {std::move(trace), std::move(notes)};
}

std::string error_of(const std::string& text) {
  return support::error_of([&] { with(ten_seconds(), text); });
}

// SM activity of GPU 0, this many seconds after the report's start.
std::string scrape(double at_s, double sm, const std::string& labels = "") {
  return fmt::format(
      "# HELP DCGM_FI_PROF_SM_ACTIVE Ratio\n# TYPE DCGM_FI_PROF_SM_ACTIVE "
      "gauge\nDCGM_FI_PROF_SM_ACTIVE{{gpu=\"0\",UUID=\"GPU-1\"{}}} {} {}\n",
      labels, sm, static_cast<std::int64_t>((static_cast<double>(epoch_s) + at_s) * 1000));
}

const std::string dmon =
    "#Entity   GPUTL  SMACT  SMOCC  TENSO  DRAMA\nID\nGPU 0   99   0.900  0.400  0.600  N/A\nGPU 0 "
    "  99   0.700  0.200  0.200  0.300\n\n"
    "# Entity  GPUTL  SMACT  SMOCC  TENSO  DRAMA\n      Id\n    GPU 0   N/A  N/A  N/A  N/A  N/A\n";

}  // namespace

TEST_CASE("dcgm: activities from a report's own samples agree with SQL on its table") {
  const auto path = std::filesystem::path(GH_FIXTURES) / "gpumetrics.sqlite";
  const Analysis a(read_nsys(path), Classes(), {});
  const Facts facts(a);
  const Database db(path);
  for (const auto& [fact, names] : std::vector<std::pair<std::string, std::string>>{
           {"sm_active", "'SMs Active [Throughput %]'"},
           {"sm_occupancy", "'Compute Warps in Flight [Throughput %]'"},
           {"tensor_active", "'Tensor Active [Throughput %]'"},
           {"dram_active",
            "'DRAM Read Bandwidth [Throughput %]', 'DRAM Write Bandwidth [Throughput %]'"},
           {"dram_read", "'DRAM Read Bandwidth [Throughput %]'"}}) {
    double sum = 0, n = 0;
    for (const Span s : a.account.devices.at(0).window) {
      Query q(db,
              fmt::format(
                  "SELECT coalesce(sum(v), 0.0), count(*) FROM (SELECT min(100, sum(value)) v FROM "
                  "GPU_METRICS JOIN TARGET_INFO_GPU_METRICS USING (typeId, metricId) WHERE "
                  "metricName IN ({}) AND timestamp >= {} AND timestamp < {} GROUP BY timestamp)",
                  names, s.start, s.end));
      REQUIRE(q.step());
      sum += q.real(0);
      n += static_cast<double>(q.integer(1));
    }
    CAPTURE(fact);
    REQUIRE(n > 100);
    const FactValue& value = facts.value(fact == "dram_read" ? "samples.dram_read_fraction"
                                                             : "samples." + fact + "_fraction");
    REQUIRE(std::holds_alternative<double>(value));
    CHECK(std::get<double>(value) == doctest::Approx(sum / n / 100));
  }
  CHECK(shown(facts.value("samples.time_base"), Unit::text) == "aligned: the report's own samples");
}

TEST_CASE(
    "dcgm: dmon's output has no times, so it is averaged over all of it, and the report says so") {
  const Read r(with(ten_seconds(), dmon));
  CHECK(r.notes.empty());
  CHECK(r.number("samples.sm_active_fraction") == doctest::Approx(0.8));
  CHECK(r.number("samples.sm_occupancy_fraction") == doctest::Approx(0.3));
  CHECK(r.number("samples.tensor_active_fraction") == doctest::Approx(0.4));
  CHECK(r.number("samples.dram_active_fraction") == doctest::Approx(0.3));  // N/A is not a sample
  CHECK(contains(r.shown_fact("samples.time_base"), "none: averaged over all of"));
  CHECK(r.analysis.trace.samples.size() == 0);
  CHECK_FALSE(r.analysis.trace.availability(Source::samples)
                  .known());  // rules must not use it for the steps
  CHECK(contains(r.analysis.trace.availability(Source::samples).reason,
                 "it is unknown which samples"));
  // It does not affect the SM efficiency within the steps either.
  CHECK(r.number("sm.efficiency_fraction") ==
        Read(with(ten_seconds(), "#Entity SMACT\nGPU 0 0.1\n")).number("sm.efficiency_fraction"));
}

TEST_CASE("dcgm: dmon's output is aligned if each line starts with a time") {
  std::string text = "1700000000.0 #Entity   SMACT  TENSO\n1700000000.0 ID\n";
  for (int i = -2; i < 13; ++i)
    text += fmt::format("{}.000 GPU 0  {}  0.25\n", epoch_s + i, i > 0 && i < 10 ? 0.5 : 0.0);
  const Read r(with(ten_seconds(), text));
  CHECK(r.number("samples.sm_active_fraction") == doctest::Approx(0.5));
  CHECK(contains(r.shown_fact("samples.time_base"), "aligned: "));
  CHECK(r.analysis.trace.availability(Source::samples).state == Collected::yes);
}

TEST_CASE(
    "dcgm: the exporter's output is aligned by its times, and samples that extend beyond the steps "
    "are ignored") {
  std::string text;
  for (int i = -3; i <= 15; ++i)
    text += scrape(i, i >= 1 && i <= 9 ? 0.1 * i : 1.0) + "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 100\n";
  const Read r(with(ten_seconds(), text));
  CHECK(r.notes.empty());
  CHECK(r.analysis.trace.samples.size() == 10);  // from 1 s (an average since 0 s) to 10 s
  CHECK(r.number("samples.sm_active_fraction") ==
        doctest::Approx(0.5));  // from 1 s to 9 s: the step ends before the last
  CHECK(r.analysis.trace.capture_end == 10'000'000'000);
  CHECK_FALSE(std::holds_alternative<double>(r.facts.value("samples.tensor_active_fraction")));
  CHECK(is_metric("sm_active", "DCGM_FI_PROF_SM_ACTIVE"));

  SUBCASE("a sample that appears for two pods counts once, and escapes do not end a label") {
    std::string twice;
    for (int i = 0; i < 10; ++i)
      twice += scrape(i, 0.25, R"(,pod="a\"}b")") + scrape(i, 0.25, ",pod=\"c\"");
    const Read t(with(ten_seconds(), twice));
    CHECK(t.number("samples.sm_active_fraction") == doctest::Approx(0.25));
    CHECK(t.analysis.trace.samples.size() == 9);
  }
  SUBCASE("samples of another day do not belong to this recording") {
    const Read t(with(ten_seconds(), scrape(100'000, 0.5) + scrape(100'001, 0.5)));
    CHECK(contains(t.shown_fact("samples.sm_active_fraction"),
                   "covers a period within the recording"));
  }
  SUBCASE("an average that began before the recording does not count") {
    CHECK(contains(Read(with(ten_seconds(), scrape(-20, 0.5) + scrape(5, 0.5)))
                       .shown_fact("samples.sm_active_fraction"),
                   "covers a period within the recording"));
  }
  SUBCASE(
      "without times, or without a date in the report, samples are averaged over the whole file") {
    for (const bool dated : {true, false}) {
      const Read t(with(
          ten_seconds(dated),
          dated ? "DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 0.3\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\"} 0.5\n"
                : scrape(1, 0.3) + scrape(2, 0.5)));
      CHECK(t.number("samples.sm_active_fraction") == doctest::Approx(0.4));
      CHECK(contains(t.shown_fact("samples.time_base"), "none: "));
    }
  }
}

TEST_CASE("dcgm: a report contains the time of day") {
  const Trace t = read_nsys(std::filesystem::path(GH_FIXTURES) / "gpumetrics.sqlite");
  const Database db(std::filesystem::path(GH_FIXTURES) / "gpumetrics.sqlite");
  Query q(db, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
  REQUIRE(q.step());
  CHECK(t.epoch_ns == q.integer(0));
  // Its own samples are finer than DCGM's.
  const auto [same, notes] = with(t, dmon);
  CHECK(contains(notes.at(0), "not used, because the report has these GPU metrics itself"));
  CHECK(same.monitor.path.empty());
}

TEST_CASE("dcgm: power and its limit are facts in W, aligned if they have times") {
  std::string text = "#Entity POWER EPLMT SMCLK SMACT\nID\n";
  const Read mean(
      with(ten_seconds(), text + "GPU 0 600.5 700 1980 0.9\nGPU 0 640.5 700 1755 0.7\n"));
  CHECK(mean.number("samples.power_w") == doctest::Approx(620.5));
  CHECK(mean.number("samples.power_limit_w") == 700);
  CHECK(shown(mean.facts.value("samples.power_w"), Unit::watts) == "620 W");
  CHECK(mean.number("samples.sm_active_fraction") == doctest::Approx(0.8));

  std::string timed = "1700000000.0 " + text.substr(0, text.find('\n')) + "\n";
  for (int i = -2; i < 13; ++i)
    timed +=
        fmt::format("{}.000 GPU 0  {}  700  1980  0.5\n", epoch_s + i, i > 0 && i < 10 ? 690 : 90);
  CHECK(Read(with(ten_seconds(), timed)).number("samples.power_w") == doctest::Approx(690));

  const Read exported(with(ten_seconds(), "DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 512.25\n"));
  CHECK(exported.number("samples.power_w") == doctest::Approx(512.25));
  CHECK_FALSE(std::holds_alternative<double>(exported.facts.value("samples.power_limit_w")));
  // No GPU draws this much.
  CHECK(contains(error_of("#Entity POWER\nGPU 0 1e6\n"), "contains no usable sample"));
}

TEST_CASE("dcgm: a report with its own GPU metrics takes only those that it lacks") {
  const Trace t = read_nsys(std::filesystem::path(GH_FIXTURES) / "gpumetrics.sqlite");
  const Read own(std::pair(t, std::vector<std::string>()));
  const Read both(with(t, "#Entity SMACT POWER EPLMT\nGPU 0 0.01 650 700\n"));
  CHECK(contains(both.notes.at(0), "used only for GPU metrics that the report lacks"));
  CHECK(both.number("samples.sm_active_fraction") == own.number("samples.sm_active_fraction"));
  CHECK(both.number("samples.power_w") == 650);
  CHECK(contains(both.shown_fact("samples.time_base"),
                 "aligned: the report's own samples; other metrics: "));
  CHECK(both.analysis.trace.availability(Source::samples).known());
}

TEST_CASE("dcgm: unusable input is skipped and reported") {
  const std::string head = "#Entity SMACT TENSO\n";
  SUBCASE("invalid values") {
    for (const char* value : {"nan", "inf", "1e300", "-0.1", "1.6", "-nan", "0x1p3", "abc"}) {
      CAPTURE(value);
      const Read r(with(ten_seconds(), head + "GPU 0 0.5 0.5\nGPU 0 " + value + " 0.5\n"));
      CHECK(r.number("samples.sm_active_fraction") == doctest::Approx(0.5));
      CHECK(contains(
          r.notes.at(0),
          "skipped 1 value that is neither between 0 and 1 nor a possible power or clock"));
    }
    CHECK(
        Read(with(ten_seconds(), head + "GPU 0 1.01 0.5\n")).number("samples.sm_active_fraction") ==
        1);
    CHECK(Read(with(ten_seconds(), head + "GPU 0 0.5 140737488355328.0\n"))
              .notes.empty());  // DCGM's blank value
  }
  SUBCASE("GPUs that are not in the report") {
    const Read r(with(ten_seconds(), head + "GPU 0 0.5 0.5\nGPU 3 0.9 0.9\nGPU 7 0.9 0.9\n"));
    CHECK(r.number("samples.sm_active_fraction") == 0.5);
    CHECK(contains(r.notes.at(0), "skipped GPU 3, 7: not in the report"));
  }
  SUBCASE("MIG instances, whose shares are not the whole GPU's") {
    const Read r(with(ten_seconds(), head + "GPU 0 0.5 0.5\nGPU-I 0 0.9 0.9\nGPU-CI 0 0.9 0.9\n"));
    CHECK(r.number("samples.sm_active_fraction") == 0.5);
    CHECK(contains(r.notes.at(0), "skipped 2 rows of MIG instances"));
  }
  SUBCASE("a truncated last line") {
    const Read r(with(ten_seconds(), head + "GPU 0 0.5 0.5\nGPU 0 0.9"));
    CHECK(contains(r.notes.at(0), "skipped 1 line that cannot be read, the first of them line 3"));
  }
}

TEST_CASE("dcgm: input that is not from DCGM is rejected with one line that says where") {
  CHECK(contains(error_of(""), "is empty"));
  CHECK(contains(error_of("\n \n"), "is empty"));
  CHECK(contains(error_of("\n{ \"traceEvents\": [] }\n"),
                 "line 2 is neither a header of `dcgmi dmon`"));
  CHECK(contains(error_of(std::string("\0\1\2", 3)), "line 1 is not text"));
  CHECK(contains(error_of("#Entity SMACT\nGPU x y\n"), "line 2 cannot be read"));
  CHECK(contains(error_of("#Entity FANSP\nGPU 0 300\n"), "no values for fields 1002 to 1005, 100"));
  CHECK(contains(error_of("DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\" 0.5\n"), "line 1 cannot be read"));
  CHECK(contains(error_of("DCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",Hostname=\"a\"} "
                          "0.5\nDCGM_FI_PROF_SM_ACTIVE{gpu=\"0\",Hostname=\"b\"} 0.5\n"),
                 "several hosts (a, b"));
  CHECK(contains(error_of("#Entity SMACT\nGPU 0 1e300\n"),
                 "no value is between 0 and 1 or a possible power"));
  for (const char* file : {"/nonexistent", "/tmp"}) {
    Trace t = ten_seconds();
    CHECK_THROWS_AS(add_dcgm(t, file), Error);
  }
}

TEST_CASE("dcgm: --dcgm adds samples to a report on the command line") {
  const support::TempDir dir;
  const std::string file = write_file(dir / "dmon.txt", dmon).string(),
                    bad = write_file(dir / "bad.txt", "hello\n").string();
  const support::Ran ran = support::advise("good.sqlite -v --dcgm " + file, {"COLUMNS=160"});
  CHECK(ran.status == 0);
  CHECK(contains(ran.out, "DCGM samples: time base none: averaged over all of"));
  CHECK(contains(ran.out, "SMs active 80 %, tensor cores 40 % over all that was monitored"));
  CHECK(contains(ran.out, "it is unknown which samples"));  // why tensor-idle is not checked
  const support::Ran refused = support::advise("good.sqlite --dcgm " + bad);
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "line 1 is neither"));
  CHECK(std::count(refused.err.begin(), refused.err.end(), '\n') == 1);
  CHECK(contains(support::advise("gpumetrics.sqlite").out, ", SMs active "));
  for (const char* command :
       {"facts good.sqlite", "diff good.sqlite good.sqlite",
        "gate good.sqlite --baseline good.sqlite", "baseline good.sqlite -o /dev/null"})
    CHECK(support::advise(std::string(command) + " --dcgm " + bad).status == 2);
}
