// When gh-advise scrub must stop: files that are not reports, and places where nothing can be
// written.
#include <fmt/format.h>
#include <sys/stat.h>

#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// The line of the error; nothing may be left behind.
std::string refused(const TempDir& dir, const std::string& command) {
  const auto count = [&] {
    return std::distance(fs::directory_iterator(dir / ""), fs::directory_iterator());
  };
  const auto before = count();
  const Ran ran = shell(command, {"", dir / ""});
  CHECK_MESSAGE(ran.status == 2, ran.out);
  CHECK(ran.out == "");
  CHECK_MESSAGE(lines_of(ran.err).size() == 1, ran.err);
  CHECK(count() == before);
  return ran.err;
}
const std::string scrub = "'" GH_PROGRAM "' scrub ";

}  // namespace

TEST_CASE("scrub: too many tables and computed columns are refused") {
  const TempDir dir;
  std::string sql = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);";
  for (int i = 0; i < 2000; ++i)
    sql += fmt::format("CREATE TABLE CUPTI_ACTIVITY_KIND_{} (globalPid);", i);
  run_sql(dir / "many.sqlite", sql);
  CHECK(contains(refused(dir, scrub + "many.sqlite -o out.sqlite"),
                 "many.sqlite: has 2001 tables, but an Nsight Systems export has about 200"));
  run_sql(dir / "computed.sqlite",
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT GENERATED ALWAYS AS "
          "(hex(zeroblob(400000000))) VIRTUAL)");
  CHECK(contains(refused(dir, scrub + "computed.sqlite -o out.sqlite"),
                 "computed.sqlite: table StringIds has computed columns"));
}

TEST_CASE("scrub: a pipe or a device is refused at once") {
  const TempDir dir;
  REQUIRE(mkfifo((dir / "pipe.sqlite").c_str(), 0600) == 0);
  for (const char* path : {"pipe.sqlite", "/dev/zero"})
    CHECK(contains(refused(dir, fmt::format("timeout 10 {}{} -o out.sqlite", scrub, path)),
                   std::string(path) + ": is not a regular file; give a report"));
}

TEST_CASE("scrub: a thousand tables with any names, without row ids and with views, are copied") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  std::string sql;
  for (int i = 0; i < 1000; ++i) {
    sql += fmt::format(
        "CREATE TABLE \"CUPTI_ACTIVITY_KIND_ {}\"\"' ]\" (globalPid INTEGER PRIMARY KEY) WITHOUT "
        "ROWID; CREATE VIEW \"v {}\" AS SELECT 1;",
        i, i);
  }
  run_sql(dir / "report.sqlite", sql);
  const Ran ran = advise("scrub report.sqlite -o shared.sqlite", {"", dir / ""});
  CHECK_MESSAGE(ran.status == 0, ran.err);
  CHECK(contains(ran.out, "view v 0"));
}

TEST_CASE("scrub: an output that is the report, not a file, or on a full disk does no harm") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  fs::copy_file(GH_FIXTURES "/graphs.pt.trace.json", dir / "trace.json");
  fs::create_symlink("report.sqlite", dir / "link.sqlite");
  fs::create_hard_link(dir / "report.sqlite", dir / "other.sqlite");
  fs::create_directory(dir / "folder");
  const std::string whole = read_file(dir / "report.sqlite");
  for (const char* out : {"report.sqlite", "link.sqlite", "other.sqlite"})
    CHECK(contains(refused(dir, scrub + "report.sqlite -o " + out), "is the file being read"));
  CHECK(contains(refused(dir, scrub + "report.sqlite -o folder"), "folder: is not a file"));
  CHECK(
      contains(refused(dir, scrub + "report.sqlite -o /dev/stdout"), "/dev/stdout: is not a file"));
  write_file(dir / "here", "");
  CHECK(contains(refused(dir, scrub + "report.sqlite -o /dev/stdout >here"), "is not a file"));
  CHECK(contains(refused(dir, scrub + "report.sqlite -o /proc/self/fd/1 >here"), "is not a file"));
  write_file(dir / "before.sqlite", "as it was");
  for (const char* out : {"before.sqlite", "new.sqlite"})
    CHECK(contains(refused(dir, "ulimit -f 200; exec " + scrub + "report.sqlite -o " + out),
                   "cannot be written"));
  CHECK(contains(refused(dir, "ulimit -f 200; exec " + scrub + "trace.json -o new.json"),
                 "cannot be written"));
  CHECK(read_file(dir / "before.sqlite") == "as it was");
  CHECK(read_file(dir / "report.sqlite") == whole);
}

TEST_CASE("scrub: a mounted output stays, and so does the file on a full file system") {
  const TempDir dir;
  if (shell("unshare -rm true").status != 0) return;  // not allowed here
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  write_file(dir / "mounted.sqlite", "as it was");
  write_file(dir / "target", "");
  fs::create_directory(dir / "small");
  const auto mounted = [](const std::string& mount, const std::string& out) {
    return "unshare -rm sh -c 'mount " + mount + " && exec \"$0\" scrub report.sqlite -o " + out +
           "' '" GH_PROGRAM "'";
  };
  CHECK(contains(refused(dir, mounted("--bind mounted.sqlite target", "target")),
                 "target: cannot be written"));
  CHECK(read_file(dir / "mounted.sqlite") == "as it was");
  CHECK(contains(refused(dir, mounted("-t tmpfs -o size=200k none small", "small/new.sqlite")),
                 "cannot be written"));
}

TEST_CASE(
    "scrub: a text full of a name, and variables built to cost time, take no longer than usual") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  const auto variable = [](const std::string& text) {
    return "INSERT INTO META_DATA_CAPTURE SELECT 'PROCESS_0:ENVIRONMENT_VARIABLE', " + text + ";";
  };
  // "replace" doubles: the digits become that many zeros, and these that many times the text.
  const auto repeated = [](const std::string& text, int times) {
    return fmt::format("replace(hex(zeroblob({})), '00', '{}')", times, text);
  };
  run_sql(dir / "report.sqlite",
          variable("'HOME=/home/janedoe'") + variable("'USER=' || " + repeated("a ", 200'000)) +
              variable("'DB_PASSWORD=%' || " + repeated("25", 200'000) + " || '41bcdefgh'") +
              "INSERT INTO StringIds(id, value) VALUES (900001, " + repeated("janedoe ", 500'000) +
              ");INSERT INTO OSRT_CALLCHAINS(id, stackDepth, module, symbol, unresolved) VALUES "
              "(900001, 0, 900001, 900001, 0)");
  const std::string seconds = sanitized || emulated ? "400" : "40";
  const Ran ran = shell("ulimit -t " + seconds + "; exec " + scrub + "report.sqlite -o out.sqlite",
                        {"", dir / ""});
  REQUIRE_MESSAGE(ran.status == 0, ran.err);
  CHECK(!contains(read_file(dir / "out.sqlite"), "janedoe"));
}

TEST_CASE("scrub: --timeout stops it for an export and a trace, and nothing is written") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  run_sql(dir / "report.sqlite",
          "INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', "
          "'HOME=/home/janedoe');WITH RECURSIVE n(i) AS (SELECT 900001 UNION ALL SELECT i + 1 FROM "
          "n WHERE i < 900048) INSERT INTO StringIds(id, value) SELECT i, "
          "replace(hex(zeroblob(60000)), '00', 'janedoe %25252541 ') FROM n;INSERT INTO "
          "OSRT_CALLCHAINS(id, "
          "stackDepth, module, symbol, unresolved) SELECT id, 0, id, id, 0 FROM StringIds WHERE id "
          "> 900000");
  std::string trace = R"({"env": {"HOME": "/home/janedoe"}, "traceEvents": [)";
  std::string name;
  for (int i = 0; i < 60'000; ++i) name += "janedoe %25252541 ";
  for (int i = 0; i < 48; ++i)
    trace += R"({"ph": "i", "pid": 1, "tid": 1, "ts": 1, "s": "t", "name": ")" + name + "\"},\n";
  write_file(dir / "trace.json", trace + "{}]}");
  for (const char* report : {"report.sqlite", "trace.json"}) {
    const std::string error = refused(dir, scrub + report + " -o out --timeout 1");
    CHECK_MESSAGE(contains(error, "took more than 1 s of CPU time"), error);
  }
}
