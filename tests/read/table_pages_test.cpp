// Rows read from pages are the rows that SQLite reads.
#include "read/table_pages.hpp"

#include <sqlite3.h>

#include <optional>

#include "base/parallel.hpp"
#include "read/nsys.hpp"
#include "support/support.hpp"

using namespace gh;
using namespace support;

namespace {

// The current row of a query or a page reader, as a line of text.
std::string line_of(auto& row, std::size_t columns) {
  std::string out;
  for (int c = 0; c < static_cast<int>(columns); ++c)
    if (row.is_null(c))
      out += "NULL|";
    else if (row.is_integer(c))
      out += std::to_string(row.integer(c)) + '|';
    else if (row.is_text(c))
      out += '"' + std::string(row.text(c)) + "\"|";
    else
      out += std::to_string(row.real(c)) + '|';
  return out + '\n';
}

// Every value of a table as text, one row per line, through a statement.
std::string by_statement(const Database& db, const std::string& table, const TableLayout& layout) {
  std::string sql;
  for (const auto& c : layout.columns) sql += (sql.empty() ? "SELECT \"" : ", \"") + c.name + '"';
  Query rows(db, sql + " FROM \"" + table + '"');
  std::string out;
  while (rows.step()) out += line_of(rows, layout.columns.size());
  return out;
}

// The same from its pages, this many at a time; nothing if they cannot be read this way.
std::optional<std::string> by_page(const std::filesystem::path& path, const Database& db,
                                   const std::string& table, const std::size_t at_a_time) try {
  const PageFile file(path);
  const auto layout = layout_of(db, table);
  if (!layout) return std::nullopt;
  std::vector<int> wanted;
  for (std::size_t c = 0; c < layout->columns.size(); ++c) wanted.push_back(static_cast<int>(c));
  const std::vector<std::uint32_t> leaves = file.leaves(layout->root);
  std::string out;
  for (std::size_t i = 0; i < leaves.size(); i += at_a_time) {
    PageRows rows(file, *layout,
                  std::span(leaves).subspan(i, std::min(at_a_time, leaves.size() - i)), wanted);
    while (rows.step()) out += line_of(rows, wanted.size());
  }
  return out;
} catch (const UnexpectedPage&) {
  return std::nullopt;
}

constexpr const char* all_widths =
    "CREATE TABLE t (a INTEGER, id INTEGER PRIMARY KEY, b TEXT, c);"
    "INSERT INTO t VALUES (0, 5, 'x', 1), (1, 7, NULL, -1), (127, 300, '', 1.5), (-128, 70000, "
    "'y', x'0001'), (32767, 80000, 'z', -32768), (8388607, 80001, 'z', -8388608), (2147483647, "
    "80002, 'z', -2147483648),"
    "(140737488355327, 80003, 'z', -140737488355328), (9223372036854775807, 9223372036854775806, "
    "'z', -9223372036854775807);"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) INSERT INTO t "
    "SELECT i * i * i, 1000000 + i, substr(replace(hex(zeroblob(i * 20)), '0', 'ab'), 1, i * 37), "
    "i FROM n;"
    "DELETE FROM t WHERE id % 7 = 0;"
    "ALTER TABLE t ADD COLUMN later; INSERT INTO t VALUES (1, 2, 'first', 4, 5);";

void write_all_widths(const std::filesystem::path& path, int page_bytes) {
  sqlite3* db = nullptr;
  sqlite3_open(path.c_str(), &db);
  sqlite3_exec(db, ("PRAGMA page_size = " + std::to_string(page_bytes)).c_str(), nullptr, nullptr,
               nullptr);
  REQUIRE(sqlite3_exec(db, all_widths, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

}  // namespace

TEST_CASE("pages: every value in recorded reports is what SQLite reads") {
  std::size_t by_pages = 0;
  for (const char* name : {"starved", "eager-autogradnvtx", "gpumetrics", "um"}) {
    const std::filesystem::path path =
        std::filesystem::path(GH_FIXTURES) / (std::string(name) + ".sqlite");
    const Database db(path);
    for (const std::string& table : tables_of(path)) {
      CAPTURE(table);
      const auto rows = by_page(path, db, table, 3);
      if (!rows) continue;
      ++by_pages;
      CHECK((*rows == by_statement(db, table, *layout_of(db, table))));
    }
  }
  CHECK(by_pages > 100);
}

TEST_CASE(
    "pages: numbers of every width, row ids, long texts, deleted rows and late columns, with pages "
    "of every size") {
  const TempDir dir;
  for (const int page_bytes : {512, 1024, 4096, 65536}) {
    CAPTURE(page_bytes);
    const std::filesystem::path path = dir / std::to_string(page_bytes);
    write_all_widths(path, page_bytes);
    const Database reader(path);
    const auto rows = by_page(path, reader, "t", 2);
    REQUIRE(rows);
    CHECK((*rows == by_statement(reader, "t", *layout_of(reader, "t"))));
  }
}

TEST_CASE("pages: tables that pages do not support are left to SQLite") {
  const TempDir dir;
  for (const char* sql :
       {"CREATE TABLE t (a INTEGER PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO t VALUES (1, 2)",
        "CREATE TABLE t (a, b AS (a + 1)); INSERT INTO t VALUES (1)",
        "CREATE TABLE t (a INTEGER PRIMARY KEY DESC, b); INSERT INTO t VALUES (1, 2)",
        "CREATE TABLE t (a REAL); INSERT INTO t VALUES (1)",
        "CREATE TABLE t (a); INSERT INTO t VALUES (1); ALTER TABLE t ADD COLUMN b DEFAULT 7"}) {
    CAPTURE(sql);
    const std::filesystem::path path =
        run_sql(dir / std::to_string(std::hash<std::string>()(sql)), sql);
    CHECK(!by_page(path, Database(path), "t", 1));
  }
}

TEST_CASE("pages: flipped bytes give rows or UnexpectedPage") {
  const TempDir dir;
  write_all_widths(dir / "whole", 1024);
  const Database whole(dir / "whole");
  const TableLayout layout = *layout_of(whole, "t");
  const std::string bytes = read_file(dir / "whole");
  std::size_t gave_up = 0;
  for (std::size_t at = 1024; at < bytes.size(); at += at % 1024 < 16 ? 1 : 331)
    for (const unsigned char flip : {0x01, 0x80}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      write_file(dir / "damaged", damaged);
      gave_up += !by_page(dir / "damaged", whole, "t", 4);  // the layout of the undamaged file
    }
  CHECK(gave_up > 20);
}

TEST_CASE("pages: a long table gives the same trace on any number of threads") {
  const TempDir dir;
  const std::filesystem::path path =
      run_sql(dir / "long.sqlite",
              "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds "
              "VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'cudaMemcpyAsync');"
              "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass "
              "INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, filler TEXT);"
              "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000) "
              "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME"
              " SELECT i * 1000, i * 1000 + CASE WHEN i % 20000 = 0 THEN -5 ELSE 300 END, 1, "
              "281474976710656 + i % 5, i, 1 + i % 2, hex(zeroblob(300)) FROM n");
  std::optional<Trace> first;
  for (const unsigned threads : {1u, 2u, 7u}) {
    use_threads(threads);
    Trace trace = read_nsys(path);
    use_threads(0);
    CHECK(trace.calls.size() == 59997);
    CHECK(trace.problems ==
          std::vector<std::string>{"skipped 3 invalid rows of table CUPTI_ACTIVITY_KIND_RUNTIME "
                                   "(wrong type, or end before start)"});
    if (!first) {
      first = std::move(trace);
      continue;
    }
    CHECK((trace.calls.start == first->calls.start));
    CHECK((trace.calls.name == first->calls.name));
    CHECK((trace.calls.thread == first->calls.thread));
    CHECK((trace.calls.correlation == first->calls.correlation));
    CHECK(trace.names[trace.calls.name[0]] == first->names[first->calls.name[0]]);
  }
}
