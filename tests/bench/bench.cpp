// bench [FIXTURE [TIMES...]]: measures how long the program takes on long reports, compared with a
// bare pass over the same columns.
//
// A report is a recorded one whose events are repeated TIMES times in sequence. Four things run on
// it in turn, three times, and the shortest time of each counts, because machines are shared: the
// bare pass, on as many threads as there are processors; reading, account and all rules without
// replay; the whole program, which replays and writes JSON; and `gh-advise layers`. CPU seconds are
// next to wall-clock seconds: if other programs are running, only CPU seconds can be compared. Run
// this program by hand; it is not a test and checks no times.
//
// bench --bare REPORT: the bare pass alone, for count_instructions.py.
#include <fmt/format.h>
#include <malloc.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/parallel.hpp"
#include "base/profile.hpp"
#include "read/read.hpp"
#include "rules/rules.hpp"

namespace {

namespace fs = std::filesystem;

// The tables that are read, with the columns read from them (schemas/nsys.toml).
struct Table {
  const char* name;
  const char* columns;
};
constexpr Table tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start, end, deviceId, streamId, globalPid, correlationId, demangledName, gridX, gridY, "
     "gridZ, blockX, blockY, blockZ, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start, end, deviceId, streamId, globalPid, correlationId, bytes, copyKind, srcKind, dstKind, "
     "migrationCause, virtualAddress, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start, end, deviceId, streamId, globalPid, correlationId, bytes, memKind, graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start, end, deviceId, streamId, globalPid, correlationId"},
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
  const std::int64_t n =
      sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  sqlite3_finalize(statement);
  return n;
}

// Repeats a report's events: shifts times and correlations from copy to copy, and continues the
// numbering of steps.
void lengthen(const fs::path& from, const fs::path& to, int times) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  sqlite3* db = open_database(to, SQLITE_OPEN_READWRITE);
  run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
  const std::int64_t period = number(
                         db,
                         "SELECT max(end) - min(start) + 1000 FROM CUPTI_ACTIVITY_KIND_RUNTIME"),
                     calls = number(
                         db, "SELECT max(correlationId) + 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME");
  const std::int64_t steps =
      number(db, "SELECT count(DISTINCT text) FROM NVTX_EVENTS WHERE text GLOB 'step [0-9]*'");
  for (const Table& table : tables) {
    std::string columns, values;
    sqlite3_stmt* info = nullptr;
    sqlite3_prepare_v2(db, fmt::format("PRAGMA table_info({})", table.name).c_str(), -1, &info,
                       nullptr);
    while (sqlite3_step(info) == SQLITE_ROW) {
      const std::string name = reinterpret_cast<const char*>(sqlite3_column_text(info, 1));
      const std::string sep = columns.empty() ? "" : ", ";
      columns += sep + name;
      if (name == "start" || name == "end")
        values += fmt::format("{}{} + i * {}", sep, name, period);
      else if (name == "correlationId")
        values += fmt::format("{}{} + i * {}", sep, name, calls);
      else if (name == "text" && steps > 0)
        values += fmt::format(
            "{}CASE WHEN text GLOB 'step [0-9]*' THEN 'step ' || (CAST(substr(text, 6) AS INTEGER) "
            "+ i * {}) ELSE text END",
            sep, steps);
      else
        values += sep + name;
    }
    sqlite3_finalize(info);
    if (columns.empty()) continue;
    run(db,
        fmt::format("CREATE TEMP TABLE once AS SELECT * FROM {0} WHERE start > 0; WITH RECURSIVE "
                    "copies(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < {1}) "
                    "INSERT INTO {0} ({2}) SELECT {3} FROM copies CROSS JOIN once; DROP TABLE once",
                    table.name, times - 1, columns, values));
  }
  run(db, "COMMIT");
  sqlite3_close(db);
}

// A bare pass: reads every column of every row and does nothing with it. Tables are split by row
// ids, and each thread has its own connection. Returns the number of rows.
std::int64_t bare_pass(const fs::path& path) {
  struct Part {
    const Table* table;
    std::int64_t first, last;
  };
  std::vector<Part> parts;
  constexpr std::int64_t part_rows = 100'000;
  sqlite3* db = open_database(path, SQLITE_OPEN_READONLY);
  for (const Table& table : tables)
    for (std::int64_t first = 0,
                      last = number(db, fmt::format("SELECT max(rowid) FROM {}", table.name));
         first <= last; first += part_rows)
      parts.push_back({&table, first, first + part_rows - 1});
  sqlite3_close(db);
  std::vector<sqlite3*> connections(gh::thread_count());
  for (sqlite3*& c : connections)
    c = open_database(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
  std::atomic<std::int64_t> rows = 0, sink = 0;
  gh::in_parallel(parts.size(), [&](std::size_t i, std::size_t worker) {
    sqlite3_stmt* statement = nullptr;
    const std::string sql =
        fmt::format("SELECT {} FROM {} WHERE rowid BETWEEN {} AND {}", parts[i].table->columns,
                    parts[i].table->name, parts[i].first, parts[i].last);
    if (sqlite3_prepare_v2(connections[worker], sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return;
    const int columns = sqlite3_column_count(statement);
    std::int64_t n = 0, sum = 0;
    for (; sqlite3_step(statement) == SQLITE_ROW; ++n)
      for (int c = 0; c < columns; ++c) sum += sqlite3_column_int64(statement, c);
    sqlite3_finalize(statement);
    rows += n;
    sink += sum;
  });
  for (sqlite3* c : connections) sqlite3_close(c);
  return rows;
}

// Reading, account and all rules, without replay. Prints where the time went.
void judge(const fs::path& path) {
  gh::start_profile();
  const std::vector<gh::Rule> rules = gh::own_rules();
  gh::Trace trace = gh::timed("read", [&] { return gh::read_report(path, "nsys"); });
  const gh::Analysis analysis(std::move(trace), gh::Classes(), {});
  const gh::Facts facts(analysis);
  gh::evaluate(rules, analysis, facts, {}, false);
  std::istringstream lines(gh::render_profile());
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  ") || line.starts_with("  sort") || line.starts_with("  merge"))
      fmt::print("    {}\n", line);
  std::fflush(stdout);
}

struct Cost {
  double seconds = std::numeric_limits<double>::max(), processor_seconds = seconds;
  std::int64_t bytes = 0;  // peak memory
};

// Runs the work in a separate process, whose memory can be measured. `quiet`: discards its output.
template <class Work>
void run_apart(Cost& cost, bool quiet, Work work) {
  std::fflush(stdout);
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    if (quiet && !std::freopen("/dev/null", "w", stdout)) _exit(2);
    work();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fmt::print(stderr, "the program failed\n");
    std::exit(2);
  }
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  cost.seconds =
      std::min(cost.seconds,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  cost.processor_seconds =
      std::min(cost.processor_seconds, of(usage.ru_utime) + of(usage.ru_stime));
  cost.bytes = std::max<std::int64_t>(cost.bytes, usage.ru_maxrss * 1024);
}

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, 1 << 17);  // as the program sets it
  if (argc == 3 && std::string_view(argv[1]) == "--bare") {
    gh::use_threads(1);
    fmt::print("{}\n", bare_pass(argv[2]));
    return 0;
  }
  const std::string fixture = argc > 1 ? argv[1] : "starved";
  std::vector<int> sizes{25, 100, 400};
  if (argc > 2) sizes.clear();
  for (int i = 2; i < argc; ++i) sizes.push_back(std::max(1, std::atoi(argv[i])));
  fmt::print("{} threads\n", gh::thread_count());
  for (const int times : sizes) {
    const fs::path report =
        fs::temp_directory_path() / fmt::format("gh-advise-bench-{}.sqlite", getpid());
    lengthen(fs::path(GH_FIXTURES) / (fixture + ".sqlite"), report, times);
    Cost bare, judged, whole, layers;
    std::int64_t rows = 0;
    for (int i = 0; i < 3; ++i) {
      run_apart(bare, true, [&] { bare_pass(report); });
      run_apart(judged, i < 2, [&] { judge(report); });
      run_apart(whole, true, [&] {
        execl(GH_PROGRAM, GH_PROGRAM, report.c_str(), "--format", "json",
              static_cast<char*>(nullptr));
        _exit(127);
      });
      run_apart(layers, true, [&] {
        execl(GH_PROGRAM, GH_PROGRAM, "layers", report.c_str(), "--format", "json",
              static_cast<char*>(nullptr));
        _exit(127);
      });
    }
    rows = bare_pass(report);
    const auto events = static_cast<double>(rows);
    fmt::print("{} x {}: {:.0f} MB, {:.2f} million events\n", fixture, times,
               static_cast<double>(fs::file_size(report)) / 1e6, events / 1e6);
    fmt::print("{:<34} {:>9} {:>7} {:>11} {:>7} {:>16} {:>14}\n", "", "seconds", "ratio",
               "processor s", "ratio", "M events/s", "bytes an event");
    for (const auto& [name, cost] : {std::pair("bare pass", &bare),
                                     {"read, account, rules", &judged},
                                     {"with replay and JSON", &whole},
                                     {"layers, as JSON", &layers}})
      fmt::print("{:<34} {:>9.2f} {:>7.2f} {:>11.2f} {:>7.2f} {:>16.2f} {:>14.0f}\n", name,
                 cost->seconds, cost->seconds / bare.seconds, cost->processor_seconds,
                 cost->processor_seconds / bare.processor_seconds, events / cost->seconds / 1e6,
                 static_cast<double>(cost->bytes) / events);
    fs::remove(report);
  }
}
