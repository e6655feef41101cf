// A thin, safe hold on SQLite for files that we do not trust.
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

/// The name of a table or column, as SQL takes any.
std::string quoted_name(std::string_view name);

/// The file as a URI under which SQLite reads it and nothing beside it, not even a journal.
std::string immutable_uri(const std::filesystem::path& path);

/// Makes a connection that has just been opened safe for a file that anybody may have made. The
/// schema's views, triggers and functions do nothing, no extension is loaded and nothing mapped to
/// memory; values, statements and the memory of all connections are limited to many times what
/// exports take; cells are bounds-checked. No other database can be attached.
void distrust(sqlite3* db);

/// Ends a connection's statements as interrupted, once they have taken more instructions than
/// reading the whole file so many times over could take, or more time than there is.
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

/// Whether a journal with something in it lies beside a database: it was not closed by its writer,
/// and what it holds cannot be relied on.
bool is_being_written(const std::filesystem::path& path);

/// A read-only connection that believes nothing the file says: `distrust` and Watch hold for it,
/// and it is opened immutable, so that not even a journal beside it is looked at. Pages that lead
/// in circles end in an Error.
class Database {
 public:
  /// Throws Error where the file cannot be opened as a database.
  explicit Database(const std::filesystem::path& path) : Database(path, Deadline(path)) {}
  /// The same, of several connections that share one deadline.
  Database(const std::filesystem::path& path, const Deadline& deadline);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  /// Whether there is a table of this name that holds its rows itself. Throws Error where some of
  /// its columns are computed: a few bytes of the file may come to gigabytes there.
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

/// A statement being stepped through. Throws Error where the file turns out to be damaged.
class Query {
 public:
  Query(const Database& db, const std::string& sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, std::string_view value);
  bool step();   ///< false after the last row
  void reset();  ///< to be stepped through anew with other values

  bool is_null(int column) const;
  bool is_integer(int column) const;
  bool is_text(int column) const;          ///< text, or bytes that were stored in its place
  std::int64_t integer(int column) const;  ///< 0 of NULL
  double real(int column) const;
  /// The bytes, which need not be UTF-8; valid until the next step.
  std::string_view text(int column) const;

 private:
  const Database& db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// The first and the last of the numbers that a table's rows have by themselves, which is told
/// without reading it.
struct RowIds {
  std::int64_t first, last;
};
/// Nothing where there are no rows, or none with such numbers (WITHOUT ROWID).
std::optional<RowIds> row_ids(const Database& db, std::string_view table);

}  // namespace gh
