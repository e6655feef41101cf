// Where gh-advise scrub has to stop: reports that are none, and places where nothing can be
// written.
#include <fmt/format.h>

#include "read/scrub/proof.hpp"
#include "support/program.hpp"

using namespace support;
namespace fs = std::filesystem;

namespace {

// The line of the error, with which nothing is left behind.
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

TEST_CASE("scrub: tables by the thousand and computed columns are refused for what they are") {
  const TempDir dir;
  std::string sql = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);";
  for (int i = 0; i < 20'000; ++i)
    sql += fmt::format("CREATE TABLE CUPTI_ACTIVITY_KIND_{} (globalPid);", i);
  run_sql(dir / "many.sqlite", sql);
  CHECK(contains(refused(dir, scrub + "many.sqlite -o out.sqlite"),
                 "many.sqlite: has 20001 tables, and an export of Nsight Systems some 200"));
  run_sql(dir / "computed.sqlite",
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT GENERATED ALWAYS AS "
          "(hex(zeroblob(400000000))) VIRTUAL)");
  CHECK(contains(refused(dir, scrub + "computed.sqlite -o out.sqlite"), "computed.sqlite: "));
}

TEST_CASE("scrub: a thousand tables of any name, without row numbers and with views, are copied") {
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

TEST_CASE("scrub: an output that is the report, no file, or has no room harms nothing") {
  const TempDir dir;
  fs::copy_file(GH_FIXTURES "/good.sqlite", dir / "report.sqlite");
  fs::copy_file(GH_FIXTURES "/graphs.pt.trace.json", dir / "trace.json");
  fs::create_symlink("report.sqlite", dir / "link.sqlite");
  fs::create_hard_link(dir / "report.sqlite", dir / "other.sqlite");
  fs::create_directory(dir / "folder");
  const std::string whole = read_file(dir / "report.sqlite");
  for (const char* out : {"report.sqlite", "link.sqlite", "other.sqlite"})
    CHECK(contains(refused(dir, scrub + "report.sqlite -o " + out), "is what is read"));
  CHECK(contains(refused(dir, scrub + "report.sqlite -o folder"), "folder: is no file"));
  CHECK(contains(refused(dir, scrub + "report.sqlite -o /dev/stdout"), "/dev/stdout: is no file"));
  write_file(dir / "here", "");
  CHECK(contains(refused(dir, scrub + "report.sqlite -o /dev/stdout >here"), "is no file"));
  CHECK(contains(refused(dir, scrub + "report.sqlite -o /proc/self/fd/1 >here"), "is no file"));
  write_file(dir / "before.sqlite", "as it was");
  for (const char* out : {"before.sqlite", "new.sqlite"})
    CHECK(contains(refused(dir, "ulimit -f 200; exec " + scrub + "report.sqlite -o " + out),
                   "cannot be written"));
  CHECK(contains(refused(dir, "ulimit -f 200; exec " + scrub + "trace.json -o new.json"),
                 "cannot be written"));
  CHECK(read_file(dir / "before.sqlite") == "as it was");
  CHECK(read_file(dir / "report.sqlite") == whole);
}

TEST_CASE("scrub: an output that is mounted stays, and so does a full file system's") {
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
    "scrub: the proof finds what is sought in any case, at any place, and names whose it is") {
  using namespace gh::scrubbing;
  const TempDir dir;
  const SoughtList sought{{"Hunter2ABC", Reach::anywhere, true, false, replacement, "DB_PWD"},
                          {"aGVsbG8", Reach::anywhere, false, false, replacement, ""},
                          {"node7", Reach::as_name, true, false, replacement, ""},
                          {"forward", Reach::as_word, true, false, replacement, ""}};
  const Proof proof(sought);
  for (const char* text : {"xhUNTER2abcx", "aGVsbG8", "on_NODE7_", "-forward(", "forward", "node7"})
    CHECK_MESSAGE(proof.in_text(text) != nullptr, text);
  for (const char* text : {"hunter2ab", "agvsbg8", "node77", "anode7", "forward_x", "", "no"})
    CHECK_MESSAGE(proof.in_text(text) == nullptr, text);
  // Around the ends of what is read at once.
  for (const std::size_t at :
       {0UL, (4UL << 20) - 10, (4UL << 20) - 5, 4UL << 20, (9UL << 20) - 10}) {
    INFO(at);
    std::string bytes(9 << 20, '.');
    bytes.replace(at, 10, "hunter2abc");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) ==
          "report: some of what has to go (the value of DB_PWD) would be left in the bytes of the "
          "file, so nothing was written; please report this");
    CHECK(shell("gzip -f bytes", {"", dir / ""}).status == 0);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes.gz", "report", 8); }) != "");
    bytes.replace(at, 10, "hunter2abX");
    write_file(dir / "bytes", bytes);
    CHECK(error_of([&] { proof.check_bytes(dir / "bytes", "report", 8); }) == "");
  }
}
