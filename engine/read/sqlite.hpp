// A thin, safe layer over SQLite for untrusted files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace gh {

/// The name of a table or column, quoted for SQL.
std::string quoted_name(std::string_view name);

/// A URI under which SQLite reads the file and nothing next to it, not even a journal.
std::string immutable_uri(const std::filesystem::path& path);

/// Makes a newly opened connection safe for an untrusted file. The schema's views, triggers and
/// functions do nothing, no extension is loaded and nothing is memory-mapped. Values, statements
/// and the memory of all connections are limited to many times what exports need. Cells are
/// bounds-checked, and no other database can be attached.
void distrust(sqlite3* db);

/// Interrupts a connection's statement once it has run more instructions than reading the whole
/// file `times_over` times could need, or when the deadline has passed.
class Watch {
 public:
  Watch(sqlite3* db, std::int64_t file_bytes, const Deadline& deadline, int times_over = 1);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// For the next statement.
  void renew() const { left_ = whole_; }
  const Deadline& deadline() const { return deadline_; }

 private:
  Deadline deadline_;
  std::int64_t whole_;
  mutable std::int64_t left_;
};

/// Whether a non-empty journal is next to a database: its writer has not closed it, and its
/// contents cannot be relied on.
bool is_being_written(const std::filesystem::path& path);

/// A read-only connection that trusts nothing in the file: it applies `distrust` and Watch, and
/// opens the file as immutable, so that it ignores even a journal next to it. Pages that form a
/// loop end in an Error.
class Database {
 public:
  /// Throws Error if the file cannot be opened as a database.
  explicit Database(const std::filesystem::path& path) : Database(path, Deadline(path)) {}
  /// The same, for several connections that share a deadline.
  Database(const std::filesystem::path& path, const Deadline& deadline);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Whether there is a table of this name that stores its rows itself. Throws Error if some of its
  /// columns are computed, because a few bytes in the file could expand to gigabytes.
  bool has_table(std::string_view table) const;
  /// Throws that Error.
  void refuse_computed_columns(std::string_view table) const;
  std::vector<std::string> columns(std::string_view table) const;
  sqlite3* handle() const { return db_; }
  std::int64_t size_bytes() const { return size_bytes_; }
  const std::string& shown_path() const { return shown_path_; }
  const Deadline& deadline() const { return watch_->deadline(); }

 private:
  friend class Query;

  sqlite3* db_ = nullptr;
  std::string shown_path_;
  std::int64_t size_bytes_ = 0;
  std::unique_ptr<const Watch> watch_;
};

/// A statement being stepped through. Throws Error if the file turns out to be damaged.
class Query {
 public:
  Query(const Database& db, const std::string& sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view value);
  bool step();   ///< false after the last row
  void reset();  ///< for stepping again with other values

  bool is_null(int column) const;
  bool is_integer(int column) const;
  bool is_text(int column) const;          ///< text, or bytes stored in its place
  std::int64_t integer(int column) const;  ///< 0 for NULL
  double real(int column) const;
  /// The bytes, which may not be UTF-8; valid until the next step.
  std::string_view text(int column) const;

 private:
  const Database& db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// The first and last row id of a table, found without reading the table.
struct RowIds {
  std::int64_t first, last;
};
/// Nothing if there are no rows, or no row ids (WITHOUT ROWID).
std::optional<RowIds> row_ids(const Database& db, std::string_view table);

}  // namespace gh
