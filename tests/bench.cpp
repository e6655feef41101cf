// bench [FIXTURE [TIMES]]: how long the whole program takes on a long report, against a bare pass over the same columns.
//
// The report is a recorded one whose events are repeated TIMES times, end to end. Both are run in turn, three times, and the least
// of each counts, since machines are shared. This is a program to run by hand, no test: it asserts nothing about time.
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

// The tables that are read, with the columns that are read of them (schemas/nsys.toml).
struct Table { const char* name; const char* columns; };
constexpr Table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "start, end, deviceId, streamId, globalPid, correlationId, demangledName, gridX, gridY, gridZ, blockX, blockY, blockZ, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "start, end, deviceId, streamId, globalPid, correlationId, bytes, copyKind, srcKind, dstKind, migrationCause, virtualAddress, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "start, end, deviceId, streamId, globalPid, correlationId, bytes, memKind, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "start, end, deviceId, streamId, globalPid, correlationId"},
    {"NVTX_EVENTS", "start, end, eventType, globalTid, text, textId"},
    {"OSRT_API", "start, end, globalTid, nameId"},
};

sqlite3* open_database(const fs::path& path, int flags) {
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, flags, nullptr) != SQLITE_OK) {
    fmt::print(stderr, "{}: {}\n", path.string(), sqlite3_errmsg(db));
    std::exit(2);
  }
  return db;
}

void run(sqlite3* db, const std::string& sql) {
  char* error = nullptr;
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error) == SQLITE_OK) return;
  fmt::print(stderr, "{}: {}\n", sql, error);
  std::exit(2);
}

std::int64_t number(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  const std::int64_t n = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return n;
}

// Repeats a report's events: times and correlations are shifted from copy to copy, and steps count on.
void lengthen(const fs::path& from, const fs::path& to, int times) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  sqlite3* db = open_database(to, SQLITE_OPEN_READWRITE);
  run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  const std::int64_t period = number(db, "SELECT max(end) - min(start) + 1000 FROM CUPTI_ACTIVITY_KIND_RUNTIME"), calls = number(db, "SELECT max(correlationId) + 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME");
  const std::int64_t steps = number(db, "SELECT count(DISTINCT text) FROM NVTX_EVENTS WHERE text GLOB 'step [0-9]*'");
  for (const Table& table : tables) {
    std::string columns, values;
    sqlite3_stmt* info = nullptr;
    sqlite3_prepare_v2(db, fmt::format("PRAGMA table_info({})", table.name).c_str(), -1, &info, nullptr);
    while (sqlite3_step(info) == SQLITE_ROW) {
      const std::string name = reinterpret_cast<const char*>(sqlite3_column_text(info, 1));
      const std::string sep = columns.empty() ? "" : ", ";
      columns += sep + name;
      if (name == "start" || name == "end") values += fmt::format("{}{} + i * {}", sep, name, period);
      else if (name == "correlationId") values += fmt::format("{}{} + i * {}", sep, name, calls);
      else if (name == "text" && steps > 0) values += fmt::format("{}CASE WHEN text GLOB 'step [0-9]*' THEN 'step ' || (CAST(substr(text, 6) AS INTEGER) + i * {}) ELSE text END", sep, steps);
      else values += sep + name;
    }
    sqlite3_finalize(info);
    if (columns.empty()) continue;
    run(db, fmt::format("CREATE TEMP TABLE once AS SELECT * FROM {0} WHERE start > 0; WITH RECURSIVE copies(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < {1}) "
                        "INSERT INTO {0} ({2}) SELECT {3} FROM copies CROSS JOIN once; DROP TABLE once", table.name, times - 1, columns, values));
  }
  run(db, "COMMIT");
  sqlite3_close(db);
}

double seconds_since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

// A bare pass: every column of every row, nothing done with it. Returns the rows.
std::int64_t bare_pass(const fs::path& path, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  sqlite3* db = open_database(path, SQLITE_OPEN_READONLY);
  std::int64_t rows = 0;
  volatile std::int64_t sink = 0;
  for (const Table& table : tables) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db, fmt::format("SELECT {} FROM {}", table.columns, table.name).c_str(), -1, &statement, nullptr) != SQLITE_OK) continue;
    const int columns = sqlite3_column_count(statement);
    for (; sqlite3_step(statement) == SQLITE_ROW; ++rows)
      for (int c = 0; c < columns; ++c) sink = sink + sqlite3_column_int64(statement, c);
    sqlite3_finalize(statement);
  }
  sqlite3_close(db);
  seconds = seconds_since(start);
  return rows;
}

// The whole program: seconds on the clock, and the most memory that it held.
long whole_program(const fs::path& report, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    execl(GH_PROGRAM, GH_PROGRAM, report.c_str(), "--output", "/dev/null", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  seconds = seconds_since(start);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fmt::print(stderr, "the program failed on {}\n", report.string());
    std::exit(2);
  }
  return usage.ru_maxrss * 1024;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fixture = argc > 1 ? argv[1] : "starved";
  const int times = argc > 2 ? std::max(1, std::atoi(argv[2])) : 100;
  const fs::path report = fs::temp_directory_path() / fmt::format("gh-advise-bench-{}.sqlite", getpid());
  lengthen(fs::path(GH_FIXTURES) / (fixture + ".sqlite"), report, times);
  double pass = std::numeric_limits<double>::max(), program = pass;
  std::int64_t rows = 0;
  long memory = 0;
  for (int i = 0; i < 3; ++i) {
    double seconds = 0;
    rows = bare_pass(report, seconds), pass = std::min(pass, seconds);
    memory = std::max(memory, whole_program(report, seconds)), program = std::min(program, seconds);
  }
  fmt::print("{} x {}: {:.0f} MB, {:.2f} million events\n", fixture, times, static_cast<double>(fs::file_size(report)) / 1e6, static_cast<double>(rows) / 1e6);
  fmt::print("bare pass  {:.2f} s\nprogram    {:.2f} s  {:.2f} million events/s  {:.0f} MB at most, {:.0f} bytes an event\nratio      {:.2f}\n", pass, program, static_cast<double>(rows) / program / 1e6,
             static_cast<double>(memory) / 1e6, static_cast<double>(memory) / static_cast<double>(rows), program / pass);
  fs::remove(report);
}
