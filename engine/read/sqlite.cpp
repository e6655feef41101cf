#include "read/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "base/text.hpp"

namespace gh {
namespace {

[[noreturn]] void fail(const Database& db, std::string_view what) {
  const int code = sqlite3_errcode(db.handle()) & 0xFF;
  // SQLite's messages may quote the file.
  const std::string why = code == SQLITE_INTERRUPT
                              ? "its pages lead in circles"
                              : shortened(printable(sqlite3_errmsg(db.handle())), 200);
  if (code == SQLITE_CORRUPT || code == SQLITE_IOERR || code == SQLITE_NOTADB ||
      code == SQLITE_INTERRUPT) {
    throw Error(
        fmt::format("{}: the database is damaged or cut off ({}); export the report again with "
                    "`nsys export --type sqlite`",
                    db.shown_path(), why));
  }
  throw Error(
      fmt::format("{}: cannot {}: {}; export the report again with `nsys export --type sqlite`",
                  db.shown_path(), what, why));
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string q = "\"";
  for (const char c : name) q += c == '"' ? "\"\"" : std::string(1, c);
  return q + '"';
}

std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file://";  // with an empty authority: a path may begin with two slashes
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

Database::Database(const std::filesystem::path& path) : shown_path_(printable(path.string())) {
  const int rc =
      sqlite3_open_v2(immutable_uri(path).c_str(), &db_,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  if (rc != SQLITE_OK) {
    const std::string why = db_ ? printable(sqlite3_errmsg(db_)) : "out of memory";
    sqlite3_close(db_);
    throw Error(fmt::format("{}: cannot be opened: {}", shown_path_, why));
  }
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // A row takes a few bytes for each column, and an instruction or two: sixteen a byte are never
  // needed.
  constexpr int instructions = 10'000;  // between two calls of the handler
  std::error_code ec;
  const std::uintmax_t size = std::filesystem::file_size(path, ec);
  size_bytes_ = ec ? 0 : static_cast<std::int64_t>(size);
  whole_budget_ = 100 + size_bytes_ / instructions * 16;
  renew_budget();
  sqlite3_progress_handler(
      db_, instructions,
      [](void* budget) -> int { return --*static_cast<std::int64_t*>(budget) < 0; }, &budget_);
  sqlite3_exec(db_, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
}

Database::~Database() { sqlite3_close(db_); }

bool Database::has_table(std::string_view table) const {
  Query q(*this, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1");
  q.bind(1, table);
  return q.step();
}

std::vector<std::string> Database::columns(std::string_view table) const {
  Query q(*this, "PRAGMA table_info(" + quoted_name(table) + ")");
  std::vector<std::string> names;
  while (q.step()) names.emplace_back(q.text(1));
  return names;
}

Query::Query(const Database& db, const std::string& sql) : db_(db) {
  db.renew_budget();
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
  db_.renew_budget();
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

}  // namespace gh
