// Nsight Systems reports: a database as it is, or SQL that makes one, which gets past SQLite's own
// checks sooner.
#include "read/nsys.hpp"

#include <sqlite3.h>

#include "base/text.hpp"
#include "fuzz.hpp"

namespace {

// The database that the SQL creates in memory, from as many statements as can be run.
std::string database_of(const std::string& sql) {
  sqlite3* db = nullptr;
  sqlite3_open(":memory:", &db);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100);
  int calls_left = 1000;
  sqlite3_progress_handler(
      db, 1000, [](void* left) -> int { return --*static_cast<int*>(left) < 0; }, &calls_left);
  for (std::size_t from = 0, to = 0; from < sql.size(); from = to + 1) {
    to = std::min(sql.find('\n', from), sql.size());
    sqlite3_exec(db, sql.substr(from, to - from).c_str(), nullptr, nullptr, nullptr);
  }
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(db, "main", &size, 0);
  const std::string text(reinterpret_cast<const char*>(bytes),
                         bytes ? static_cast<std::size_t>(size) : 0);
  sqlite3_free(bytes);
  sqlite3_close(db);
  return text;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  try {
    fuzz::analyse(gh::read_nsys(fuzz::file_of(text.starts_with("SQLite format 3")
                                                  ? std::string(text)
                                                  : database_of(std::string(text)))),
                  size % 8 == 0);
  } catch (const gh::Error&) {
  }
  return 0;
}
