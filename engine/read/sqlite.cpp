#include "read/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

#include "base/text.hpp"

namespace gh {
namespace {

// No value in an export is this large; the largest hold the program's output.
constexpr int most_value_bytes = 64 << 20;
// For all connections together. One thread's takes a few MiB, and a schema of 20,000 tables 15.
constexpr std::int64_t most_memory_bytes = std::int64_t{1} << 30;
constexpr int most_statement_bytes = 1 << 20;  // enough to create a table of 2,000 columns

constexpr int instructions = 1000;  // between two checks of the clock

// SQLite's messages may quote the file.
std::string said_by(const Database& db) {
  return shortened(printable(sqlite3_errmsg(db.handle())), 200);
}

[[noreturn]] void fail(const Database& db, std::string_view what) {
  constexpr const char* again = "export the report again with `nsys export --type sqlite`";
  switch (sqlite3_errcode(db.handle()) & 0xFF) {
    case SQLITE_INTERRUPT:
      db.deadline().check();
      throw Error(fmt::format("{}: the database is damaged or cut off (its pages form a loop); {}",
                              db.shown_path(), again));
    case SQLITE_CORRUPT:
    case SQLITE_IOERR:
    case SQLITE_NOTADB:
      throw Error(fmt::format("{}: the database is damaged or cut off ({}); {}", db.shown_path(),
                              said_by(db), again));
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      throw Error(fmt::format("{}: cannot {}: it takes more memory than any export does ({}); {}",
                              db.shown_path(), what, said_by(db), again));
    default:
      throw Error(fmt::format("{}: cannot {}: {}; {}", db.shown_path(), what, said_by(db), again));
  }
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string q = "\"";
  for (const char c : name) q += c == '"' ? "\"\"" : std::string(1, c);
  return q + '"';
}

std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri =
      "file://";  // with an empty authority, because a path may begin with two slashes
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

bool is_being_written(const std::filesystem::path& path) {
  for (const char* journal : {"-wal", "-journal"}) {
    std::error_code ec;
    const std::uintmax_t bytes = std::filesystem::file_size(path.string() + journal, ec);
    if (!ec && bytes > 0) return true;
  }
  return false;
}

void distrust(sqlite3* db) {
  sqlite3_hard_heap_limit64(most_memory_bytes);
  for (const auto& [setting, value] : {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                       {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                       {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
                                       {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                       {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
                                       {SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0}}) {
    sqlite3_db_config(db, setting, value, nullptr);
  }
  for (const auto& [limit, value] : {std::pair{SQLITE_LIMIT_LENGTH, most_value_bytes},
                                     {SQLITE_LIMIT_SQL_LENGTH, most_statement_bytes},
                                     {SQLITE_LIMIT_EXPR_DEPTH, 100},
                                     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000},
                                     {SQLITE_LIMIT_TRIGGER_DEPTH, 0},
                                     {SQLITE_LIMIT_WORKER_THREADS, 0},
                                     {SQLITE_LIMIT_ATTACHED, 0}}) {
    sqlite3_limit(db, limit, value);
  }
  sqlite3_exec(db, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", nullptr, nullptr, nullptr);
}

// A row takes a few bytes for each column, and an instruction or two; sixteen per byte are never
// needed.
Watch::Watch(sqlite3* db, std::int64_t file_bytes, const Deadline& deadline, int times_over)
    : deadline_(deadline), whole_(times_over * (1000 + file_bytes / instructions * 16)), left_(0) {
  renew();
  sqlite3_progress_handler(
      db, instructions,
      [](void* self) -> int {
        const auto& watch = *static_cast<const Watch*>(self);
        return --watch.left_ < 0 || watch.deadline_.passed();
      },
      this);
}

Database::Database(const std::filesystem::path& path, const Deadline& deadline)
    : shown_path_(printable(path.string())) {
  const int rc =
      sqlite3_open_v2(immutable_uri(path).c_str(), &db_,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (rc != SQLITE_OK) {
    const std::string why = db_ ? printable(sqlite3_errmsg(db_)) : "out of memory";
    sqlite3_close(db_);
    throw Error(fmt::format("{}: cannot be opened: {}", shown_path_, why));
  }
  std::error_code ec;
  const std::uintmax_t size = std::filesystem::file_size(path, ec);
  size_bytes_ = ec ? 0 : static_cast<std::int64_t>(size);
  watch_ = std::make_unique<const Watch>(db_, size_bytes_, deadline);
  distrust(db_);
}

Database::~Database() { sqlite3_close(db_); }

bool Database::has_table(std::string_view table) const {
  Query q(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name = ?1");
  q.bind(1, table);
  if (!q.step()) return false;
  refuse_computed_columns(table);
  return true;
}

void Database::refuse_computed_columns(std::string_view table) const {
  constexpr int hidden = 6;
  Query q(*this, "PRAGMA table_xinfo(" + quoted_name(table) + ")");
  while (q.step()) {
    if (q.integer(hidden) == 0) continue;
    throw Error(fmt::format(
        "{}: table {} has computed columns, which no Nsight Systems export has; export the report "
        "again with `nsys export --type sqlite`",
        shown_path_, shortened(printable(table), 60)));
  }
}

std::vector<std::string> Database::columns(std::string_view table) const {
  Query q(*this, "PRAGMA table_info(" + quoted_name(table) + ")");
  std::vector<std::string> names;
  while (q.step()) names.emplace_back(q.text(1));
  return names;
}

Query::Query(const Database& db, const std::string& sql) : db_(db) {
  db.watch_->renew();
  if (sqlite3_prepare_v2(db.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    fail(db, "read it");
  }
}
Query::~Query() { sqlite3_finalize(statement_); }

void Query::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_, parameter, value);
}
void Query::bind(int parameter, std::string_view value) {
  sqlite3_bind_text(statement_, parameter, value.data(), static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
}

bool Query::step() {
  switch (sqlite3_step(statement_)) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: fail(db_, "read it");
  }
}
void Query::reset() {
  sqlite3_reset(statement_);
  db_.watch_->renew();
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
bool Query::is_integer(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}
bool Query::is_text(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_TEXT ||
         sqlite3_column_type(statement_, column) == SQLITE_BLOB;
}
std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }
double Query::real(int column) const { return sqlite3_column_double(statement_, column); }
std::string_view Query::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes ? std::string_view(
                     bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)))
               : std::string_view();
}

std::optional<RowIds> row_ids(const Database& db, std::string_view table) {
  try {
    // One query each: for both at once SQLite would walk the whole table.
    const auto one = [&](const char* which) -> std::optional<std::int64_t> {
      Query query(db, fmt::format("SELECT {}(rowid) FROM {}", which, quoted_name(table)));
      if (!query.step() || !query.is_integer(0)) return std::nullopt;
      return query.integer(0);
    };
    const std::optional<std::int64_t> first = one("min"), last = one("max");
    return first && last ? std::optional(RowIds{*first, *last}) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;  // no such column
  }
}

}  // namespace gh
