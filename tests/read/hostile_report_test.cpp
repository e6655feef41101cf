// Reports built to cost time or memory, or to print something other than text.
#include <sqlite3.h>
#include <zlib.h>

#include <functional>
#include <new>

#include "analysis/analysis.hpp"
#include "base/deadline.hpp"
#include "base/parallel.hpp"
#include "read/read.hpp"
#include "read/sqlite.hpp"
#include "rules/sandbox.hpp"
#include "support/program.hpp"
#include "support/traces.hpp"

using namespace gh;
using namespace support;
namespace fs = std::filesystem;

namespace {

fs::path copy_of(const TempDir& dir, const std::string& name) {
  const fs::path copy = dir / name;
  fs::copy_file(fixture(name), copy, fs::copy_options::overwrite_existing);
  fs::permissions(copy, fs::perms::owner_write, fs::perm_options::add);
  return copy;
}

// Sets --timeout during its lifetime.
struct Timeout {
  explicit Timeout(std::int64_t seconds) { use_timeout(seconds); }
  ~Timeout() { use_timeout(0); }
};

// A compressed trace with one event and this many MiB of white space.
fs::path bomb(const fs::path& path, std::size_t mib) {
  gzFile file = gzopen(path.c_str(), "wb9");
  gzputs(file, "{\"traceEvents\": [");
  const std::string space(1 << 20, ' ');
  for (std::size_t i = 0; i < mib; ++i)
    gzwrite(file, space.data(), static_cast<unsigned>(space.size()));
  gzputs(file, "]}");
  gzclose(file);
  return path;
}

// Every text of a trace that somebody may see.
std::vector<std::string> texts_of(const Trace& t) {
  std::vector<std::string> texts{t.path, t.format, t.producer, t.schema, t.host, t.monitor.path};
  for (NameId n = 0; n < t.names.size(); ++n) texts.push_back(t.names[n]);
  for (const Device& d : t.devices) texts.push_back(d.name);
  for (const Process& p : t.processes) texts.push_back(p.name);
  for (const Thread& thread : t.threads) texts.push_back(thread.name);
  for (const Diagnostic& d : t.diagnostics) texts.push_back(d.text);
  for (const Availability& a : t.sources) texts.push_back(a.reason);
  texts.insert(texts.end(), t.problems.begin(), t.problems.end());
  return texts;
}

void check_printable(const Trace& t) {
  bool escaped = false;
  for (const std::string& text : texts_of(t)) {
    CAPTURE(text);
    CHECK(text == printable(text));
    escaped = escaped || contains(text, "[31m");
  }
  CHECK(escaped);  // the character in its place was kept
}

}  // namespace

TEST_CASE("hostile: computed columns are refused, whatever their value") {
  const TempDir dir;
  const fs::path report = copy_of(dir, "good.sqlite");
  run_sql(report,
          "DROP TABLE StringIds; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT "
          "GENERATED ALWAYS AS (hex(zeroblob(40000000))) VIRTUAL); INSERT INTO StringIds "
          "(id) VALUES (1), (2), (3)");
  CHECK(
      error_of([&] { read_report(report); }) ==
      report.string() +
          ": table StringIds has computed columns, which no Nsight Systems export has; export the "
          "report again with `nsys export --type sqlite`");
}

TEST_CASE("hostile: views, virtual tables and triggers with a table's name are not read") {
  const TempDir dir;
  const fs::path report = copy_of(dir, "good.sqlite");
  run_sql(
      report,
      "DROP TABLE OSRT_API; CREATE VIEW OSRT_API AS WITH RECURSIVE n(start) AS (SELECT 1 UNION "
      "ALL SELECT start + 1 FROM n) SELECT start, start + 1 AS end, 1 AS globalTid, 1 AS nameId "
      "FROM n; CREATE VIEW mine AS SELECT * FROM OSRT_API");
  CHECK(read_report(report).os_calls.size() == 0);
  const Database db(report);
  CHECK(!db.has_table("OSRT_API"));
  CHECK(error_of([&] { Query(db, "SELECT * FROM mine").step(); }) != "");
}

TEST_CASE("hostile: values, statements and memory of a connection are limited") {
  const Database db(fixture("good.sqlite"));
  CHECK(contains(error_of([&] { Query(db, "SELECT zeroblob(400000000)").step(); }),
                 "takes more memory than any export does"));
  CHECK(error_of([&] { Query(db, "SELECT load_extension('x')").step(); }) != "");
  CHECK(error_of([&] { Query(db, "ATTACH 'other' AS other").step(); }) != "");
  CHECK(sqlite3_hard_heap_limit64(-1) > 0);
}

TEST_CASE("hostile: a statement stops at the deadline") {
  const Timeout timeout(1);
  const fs::path report = fixture("good.sqlite");
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(":memory:", &db) == SQLITE_OK);
  distrust(db);
  const Watch watch(db, static_cast<std::int64_t>(fs::file_size(report)), Deadline(report),
                    1'000'000);
  CHECK(sqlite3_exec(db,
                     "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
                     "count(*) FROM n",
                     nullptr, nullptr, nullptr) == SQLITE_INTERRUPT);
  CHECK(watch.deadline().passed());
  CHECK(contains(error_of([&] { watch.deadline().check(); }),
                 "good.sqlite: reading it took more than 1 s of CPU time"));
  sqlite3_close(db);
}

TEST_CASE("hostile: the time for a report is also that of its analysis and of its rules") {
  const std::string passed = "good.sqlite: it took more than 1 s of CPU time, the last of it for '";
  const Timeout timeout(1);
  Trace trace;
  {
    const TimeLimit limit;
    CHECK(time_left_ns() > 1'000'000'000'000);  // nothing has been read
    trace = read_report(fixture("good.sqlite"));
    const TimeLimit within;  // which changes nothing
    CHECK(time_left_ns() < 1'000'000'000);
    LuaSandbox sandbox({.instructions = std::int64_t{1} << 40});
    CHECK(
        contains(error_of([&] { sandbox.load("while true do end", "endless"); }), "stopped after"));
    CHECK(time_left_ns() < 0);
    CHECK(contains(error_of([&] { in_parallel(1, [](std::size_t, std::size_t) {}); }), passed));
    CHECK(contains(error_of([&] { Analysis(trace, Classes(), {}); }), passed));
    CHECK(contains(error_of([&] { read_report(fixture("good.sqlite")); }), "good.sqlite: "));
  }
  CHECK(error_of([&] { Analysis(trace, Classes(), {}); }) == "");
}

TEST_CASE("hostile: a time limit is as long as its files may take") {
  const TimeLimit limit;
  const auto left_s = [] { return std::lround(static_cast<double>(time_left_ns()) / 1e9); };
  read_report(fixture("good.sqlite"));
  CHECK(left_s() >= 59);
  CHECK(left_s() <= 61);
  read_report(fixture("starved.sqlite"));  // another rank
  CHECK(left_s() >= 115);
}

TEST_CASE("hostile: a file that decompresses to hundreds of times its size is refused") {
  const TempDir dir;
  const fs::path packed = bomb(dir / "bomb.json.gz", 400);
  CHECK(fs::file_size(packed) < 1 << 20);
  CHECK(contains(error_of([&] { read_report(packed); }), "decompress to more than "));
  CHECK(contains(error_of([&] { read_report(bomb(dir / "small.json.gz", 100)); }),
                 "contains no PyTorch profiler events"));
}

TEST_CASE("hostile: without --timeout, the time limit is proportional to the size") {
  const TempDir dir;
  write_file(dir / "file", "");
  const auto seconds_are = [&](std::uintmax_t bytes, const std::string& expected) {
    fs::resize_file(dir / "file", bytes);
    CHECK_MESSAGE(contains(Deadline(dir / "file").message(), "more than " + expected + " s "),
                  Deadline(dir / "file").message());
  };
  seconds_are(1 << 10, "60");
  seconds_are(100 << 20, "89");
  seconds_are(std::uintmax_t{3} << 29, "510");
}

TEST_CASE("hostile: --timeout limits decompression") {
  const TempDir dir;
  // Random digits, so that it compresses as well as a trace.
  gzFile file = gzopen((dir / "long.json.gz").c_str(), "wb1");
  gzputs(file, "{\"traceEvents\": [");
  std::string digits(1 << 20, ' ');
  std::uint64_t state = 1;
  for (char& c : digits)
    c = static_cast<char>('0' + ((state = state * 6364136223846793005 + 1) >> 60) % 10);
  for (int i = 0; i < 600; ++i) gzwrite(file, digits.data(), static_cast<unsigned>(digits.size()));
  gzputs(file, "]}");
  gzclose(file);
  const Timeout timeout(1);
  CHECK(contains(error_of([&] { read_report(dir / "long.json.gz"); }), "CPU time"));
}

TEST_CASE("hostile: if memory runs out, the program says so and ends, even while decompressing") {
  if (emulated || sanitized) return;
  const TempDir dir;
  const fs::path trace = fixture("good.pt.trace.json");
  shell("gzip -c " + quoted(trace) + " > " + quoted(dir / "t.json.gz"));
  for (int mib = 24; mib <= 200; mib += 8) {
    CAPTURE(mib);
    const Ran ran = shell("ulimit -v " + std::to_string(mib * 1024) +
                          "; exec " GH_PROGRAM " facts " + quoted(dir / "t.json.gz"));
    CHECK((ran.status == 0 || ran.status == 1 || ran.status == 2 || ran.status == 127));
  }
}

TEST_CASE("hostile: --timeout takes whole seconds, at least one") {
  CHECK(advise("facts good.sqlite --timeout 100").status == 0);
  CHECK(advise("facts good.sqlite --timeout 0").status == 2);
  CHECK(advise("facts good.sqlite --timeout soon").status == 2);
}

TEST_CASE("hostile: a long GPU name is cut, because it is matched against many expressions") {
  const TempDir dir;
  const fs::path report = copy_of(dir, "good.sqlite");
  run_sql(report, "UPDATE TARGET_INFO_GPU SET name = name || ' ' || hex(zeroblob(1000000))");
  const Trace t = read_report(report);
  REQUIRE(!t.devices.empty());
  CHECK(t.devices[0].name.size() == 256);
}

TEST_CASE("hostile: escape sequences in every text of an export are made printable on input") {
  const TempDir dir;
  for (const bool names_too : {false, true}) {
    CAPTURE(names_too);
    const fs::path report = copy_of(dir, "gpumetrics.sqlite");
    std::string sql;
    for (const std::string& table : tables_of(report)) {
      if (table.starts_with("sqlite_")) continue;
      for (const std::string& column : Database(report).columns(table)) {
        if (column == "name" && !names_too) continue;
        sql +=
            "UPDATE OR IGNORE \"" + table + "\" SET \"" + column + "\" = \"" + column +
            "\" || char(27) || '[31m' || char(7, 155, 10) || CAST(x'ff' AS TEXT) WHERE typeof(\"" +
            column + "\") = 'text';";
      }
    }
    run_sql(report, sql);
    check_printable(read_report(report));
  }
}

TEST_CASE("hostile: and so they are in every text of a PyTorch trace") {
  const TempDir dir;
  nlohmann::json trace = nlohmann::json::parse(read_file(fixture("graphs.pt.trace.json")));
  const std::string escape = "\x1b[31m\x07\xc2\x9b\n";
  const std::function<void(nlohmann::json&)> add = [&](nlohmann::json& value) {
    if (value.is_string()) value = value.get<std::string>() + escape;
    if (value.is_structured())
      for (nlohmann::json& inner : value) add(inner);
  };
  for (auto& [key, value] : trace.items()) {
    if (key != "traceEvents") add(value);
  }
  for (nlohmann::json& event : trace["traceEvents"]) {
    for (auto& [key, value] : event.items()) {
      if (key != "ph" && key != "cat") add(value);
    }
  }
  check_printable(read_report(write_file(dir / "trace.json", trace.dump())));
}
