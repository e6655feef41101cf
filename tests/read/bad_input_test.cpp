// Files that are not reports, damaged reports, and reports with invalid rows: each gives either a
// one-line error that says what to do, or a correct report. Without GPU work nothing is called
// clean.
#include <nlohmann/json.hpp>

#include <cstdint>

#include "analysis/analysis.hpp"
#include "analysis/facts.hpp"
#include "read/nsys.hpp"
#include "report/report.hpp"
#include "rules/rules.hpp"
#include "support/support.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  std::string error;  // "" if there is a report
  std::size_t ops = 0, devices = 0;
  gh::Report report;
  std::vector<std::string> problems;
  std::string text, json;
};

const std::vector<gh::Rule>& rules() {
  static const std::vector<gh::Rule> own = gh::own_rules();
  return own;
}

// Runs everything. Any exception other than gh::Error fails the test.
Outcome advise_on(const fs::path& path) {
  Outcome outcome;
  try {
    const gh::Analysis analysis(gh::read_nsys(path), gh::Classes(), {});
    const gh::Facts facts(analysis);
    outcome.report = gh::evaluate(rules(), analysis, facts, {});
    outcome.ops = analysis.trace.ops.size();
    outcome.devices = analysis.devices.size();
    outcome.problems = analysis.trace.problems;
    gh::TextStyle style;
    style.amount = gh::Amount::full;  // the brief text names no clean rules
    outcome.text = gh::render_text(analysis, outcome.report, style);
    outcome.json = gh::render_json(analysis, outcome.report);
    gh::Ns steps = 0;
    for (const gh::DeviceSteps& device : analysis.devices)
      for (const gh::Step& step : device.steps) steps += step.span.end - step.span.start;
    CHECK(steps == analysis.total_ns());
    if (analysis.devices.empty())
      CHECK_MESSAGE(outcome.report.clean.empty(), "clean without GPU work");
    CHECK_MESSAGE(outcome.report.failed.empty(), "a rule failed: ",
                  outcome.report.failed.empty() ? "" : outcome.report.failed.front().error);
  } catch (const gh::Error& e) {
    outcome.error = e.what();
    CHECK(!outcome.error.empty());
    CHECK_MESSAGE(!contains(outcome.error, "\n"), outcome.error);
  }
  return outcome;
}

void check_error(const fs::path& path, std::string_view what, std::string_view to_do) {
  const std::string error = advise_on(path).error;
  CHECK_MESSAGE(contains(error, gh::printable(path.string())), error);
  CHECK_MESSAGE(contains(error, what), error);
  CHECK_MESSAGE(contains(error, to_do), error);
}

// A copy of a recorded report after running some SQL.
Outcome changed(const std::string& name, const std::string& sql) {
  const TempDir dir;
  fs::copy_file(fixture(name), dir / "changed.sqlite");
  run_sql(dir / "changed.sqlite", sql);
  return advise_on(dir / "changed.sqlite");
}

constexpr const char* kernels = "CUPTI_ACTIVITY_KIND_KERNEL";

}  // namespace

TEST_CASE("bad input: a file that is not a report gives an error that says what to do") {
  const TempDir dir;
  check_error(dir / "missing.sqlite", "no such file", "check the path");
  check_error(write_file(dir / "empty.sqlite", ""), "is empty", "nsys export --type sqlite");
  fs::create_directory(dir / "folder");
  check_error(dir / "folder", "is a directory", "give a report in it");
  check_error(write_file(dir / "text.sqlite", "step,ns\n1,2\n"),
              "is neither an SQLite database nor", "nsys export --type sqlite");
  check_error(write_file(dir / "long.sqlite", std::string(100'000, 'x')),
              "is neither an SQLite database nor", "nsys export --type sqlite");
  check_error(write_file(dir / "run.nsys-rep",
                         std::string("\x01\x02\x00PK", 5) + std::string(5000, '\x7f')),
              "is not exported yet", "nsys export --type sqlite");
  check_error(
      run_sql(
          dir / "other.sqlite",
          "CREATE TABLE moz_places (id INTEGER, url TEXT); INSERT INTO moz_places VALUES (1, 'x')"),
      "not an export of Nsight Systems", "nsys export --type sqlite");
  check_error(run_sql(dir / "one\nline\x1b[31m.sqlite", "CREATE TABLE t (id INTEGER)"),
              "not an export of Nsight Systems", "nsys export");
}

TEST_CASE("bad input: a report cut off anywhere is an error") {
  const TempDir dir;
  const std::string whole = read_file(fixture("compile-graphs"));
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{50}, std::size_t{99},
        std::size_t{100}, std::size_t{512}, std::size_t{4095}, std::size_t{4096}, whole.size() / 4,
        whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
    INFO(size);
    const Outcome outcome = advise_on(write_file(dir / "cut.sqlite", whole.substr(0, size)));
    CHECK(outcome.error != "");
    CHECK_MESSAGE(contains(outcome.error, "export"), outcome.error);
  }
}

TEST_CASE("bad input: bytes flipped in every page give an error or a report") {
  const TempDir dir;
  const std::string whole = read_file(fixture("compile-graphs"));
  constexpr std::size_t page = 4096;
  REQUIRE(whole.size() / page > 50);
  std::uint64_t random = 0x9E3779B97F4A7C15;  // always the same sequence
  const auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    return random ^= random << 17;
  };
  std::size_t errors = 0, reports = 0;
  // With sanitizers every third page: `corrupt` and a fuzzer damage pages under them too.
  for (std::size_t at = 0; at < whole.size(); at += sanitized ? 3 * page : page) {
    INFO("page ", at / page);
    std::string bytes = whole;
    // The page's header, its cell pointers, and some of its rows.
    for (const std::size_t offset : {std::size_t{3}, std::size_t{9}, next() % page, next() % page,
                                     next() % page, next() % page})
      bytes[at + offset] =
          static_cast<char>(bytes[at + offset] ^ static_cast<char>(1 + next() % 255));
    const Outcome outcome = advise_on(write_file(dir / "flipped.sqlite", bytes));
    (outcome.error.empty() ? reports : errors) += 1;
  }
  CHECK(errors > 0);   // in pages of tables that are read
  CHECK(reports > 0);  // in other pages
}

TEST_CASE("bad input: bytes flipped in the first page, which describes the tables, do no harm") {
  const TempDir dir;
  const std::string whole = read_file(fixture("compile-graphs"));
  for (std::size_t offset = 0; offset < 4096;
       offset += (offset < 110 ? 3 : 97) * (sanitized ? 2 : 1)) {
    INFO("byte ", offset);
    std::string bytes = whole;
    bytes[offset] = static_cast<char>(~bytes[offset]);
    advise_on(write_file(dir / "flipped.sqlite", bytes));
  }
}

TEST_CASE("bad input: without GPU work nothing is clean, and the report says so") {
  std::string drop, empty;
  for (const std::string& table : tables_of(fixture("starved")))
    if (table.starts_with("CUPTI_ACTIVITY_KIND_") && !contains(table, "RUNTIME")) {
      drop += "DROP TABLE " + table + ";";
      empty += "DELETE FROM " + table + ";";
    }
  REQUIRE(contains(drop, kernels));
  std::string all;
  for (const std::string& table : tables_of(fixture("starved")))
    all += "DELETE FROM \"" + table + "\";";
  for (const std::string& sql : {drop, empty, all}) {
    const Outcome outcome = changed("starved", sql);
    if (!outcome.error.empty()) continue;  // already checked to be one line
    CHECK(outcome.devices == 0);
    CHECK(outcome.report.clean.empty());
    CHECK(!contains(outcome.text, "Nothing to fix was found"));
    CHECK(!contains(outcome.text, "No large problem was found"));
    CHECK(!contains(outcome.text, "Checked and clean"));
    CHECK_MESSAGE(contains(outcome.text, "no GPU work"), outcome.text);
  }
}

TEST_CASE("bad input: invalid times are skipped and counted") {
  const std::size_t all = advise_on(fixture("starved")).ops;
  const auto update = [](const std::string& set) {
    return "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET " + set + " WHERE rowid = 10";
  };
  const auto check_left_out = [&](const std::string& sql) {
    INFO(sql);
    const Outcome outcome = changed("starved", sql);
    CHECK(outcome.error == "");
    CHECK(outcome.ops == all - 1);
    CHECK(any_contains(outcome.problems,
                       "skipped 1 invalid row of table CUPTI_ACTIVITY_KIND_KERNEL"));
    CHECK(contains(support::on_one_line(outcome.text), "skipped 1 invalid row of table"));
  };
  check_left_out(update("end = start - 1"));
  check_left_out(update("start = 9223372036854775807, end = 9223372036854775807"));
  check_left_out(update("end = 9223372036854775807"));
  check_left_out(update("start = -9223372036854775807 - 1"));
  check_left_out(update("start = 'soon'"));
  check_left_out(update("start = 1.5e300"));
  check_left_out(update("deviceId = 'gpu'"));
}

TEST_CASE(
    "bad input: times that are all absurd leave no GPU work, and negative or unordered ones are "
    "sound") {
  for (const char* set : {"start = 9223372036854775807, end = 9223372036854775807",
                          "start = -9223372036854775807, end = 9223372036854775807",
                          "start = end + 1", "start = 'a', end = 'b'"}) {
    INFO(set);
    std::string sql;
    for (const char* table : {"KERNEL", "MEMCPY", "MEMSET"})
      sql += std::string("UPDATE CUPTI_ACTIVITY_KIND_") + table + " SET " + set + ";";
    const Outcome outcome = changed("starved", sql);
    if (!outcome.error.empty()) continue;
    CHECK(outcome.ops == 0);
    CHECK(outcome.report.clean.empty());
    CHECK(contains(outcome.text, "no GPU work"));
  }
  // Times before zero are valid: a report may count from its middle. The order in the table does
  // not matter.
  const Outcome plain = advise_on(fixture("good"));
  std::string shift;
  for (const char* table :
       {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"})
    shift += std::string("UPDATE ") + table +
             " SET start = start - 1000000000000, end = end - 1000000000000;";
  const Outcome before = changed("good", shift);
  CHECK(before.error == "");
  CHECK(before.ops == plain.ops);
  const Outcome turned = changed("good",
                                 "CREATE TABLE t AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER "
                                 "BY end DESC; DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL; INSERT INTO "
                                 "CUPTI_ACTIVITY_KIND_KERNEL SELECT * FROM t; DROP TABLE t");
  CHECK(turned.error == "");
  CHECK(turned.ops == plain.ops);
  CHECK(turned.devices == 1);
}

TEST_CASE("bad input: times close to the accepted limits do no harm in any table") {
  const std::vector<std::string> tables = tables_of(fixture("um-umtouch-full"));
  for (const char* value : {"-2305843009213693951", "2305843009213693951", "9223372036854775807",
                            "'text'", "NULL", "x'00ff'"})
    for (const char* table : {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME",
                              "CUPTI_ACTIVITY_KIND_MEMCPY", "NVTX_EVENTS"}) {
      if (std::find(tables.begin(), tables.end(), table) == tables.end()) continue;
      INFO(table, " ", value);
      const TempDir dir;
      fs::copy_file(fixture("compile-graphs"), dir / "x.sqlite");
      try {
        run_sql(dir / "x.sqlite", std::string("UPDATE ") + table + " SET start = " + value +
                                      " WHERE rowid % 50 = 1; UPDATE " + table +
                                      " SET end = " + value + " WHERE rowid % 70 = 2");
      } catch (const std::runtime_error&) {
        continue;
      }  // a column that must not be NULL
      advise_on(dir / "x.sqlite");
    }
}

TEST_CASE("bad input: names that are not UTF-8 or contain terminal escapes are printed as text") {
  const Outcome outcome =
      changed("starved",
              "UPDATE StringIds SET value = CAST(x'ff1b5b33316d80c30a' AS TEXT) || value || "
              "CAST(x'f0288cbc' AS TEXT); UPDATE NVTX_EVENTS SET text = CAST(x'1b5d303bff' AS "
              "TEXT) || text WHERE text IS NOT NULL");
  CHECK(outcome.error == "");
  CHECK(outcome.ops > 0);
  for (const std::string* printed : {&outcome.text, &outcome.json}) {
    CHECK(!contains(*printed, "\x1b"));
    CHECK(!contains(*printed, "\xff"));
  }
  CHECK(nlohmann::json::accept(outcome.json));  // it rejects what is not UTF-8
}

TEST_CASE("bad input: an integer column that is missing or contains text is reported") {
  const Outcome text = changed("starved", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = 'later'");
  CHECK(text.error == "");
  CHECK(any_contains(text.problems, "CUPTI_ACTIVITY_KIND_KERNEL"));
  const Outcome missing =
      changed("starved", "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN start TO began");
  CHECK(missing.error == "");
  CHECK(any_contains(missing.problems,
                     "table CUPTI_ACTIVITY_KIND_KERNEL was not read, because it has no column "
                     "'start'"));
  // Kernels were not read, so nothing that needs them is called clean.
  for (const char* rule : {"non-tensor-core-gemm", "unfused-softmax", "data-loader-starvation"}) {
    CHECK(std::find(missing.report.clean.begin(), missing.report.clean.end(), rule) ==
          missing.report.clean.end());
    CHECK(std::find(text.report.clean.begin(), text.report.clean.end(), rule) ==
          text.report.clean.end());
  }
}
