// A thin, safe hold on SQLite for files that we do not trust.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace gh {

/// The name of a table or column, as SQL takes any.
std::string quoted_name(std::string_view name);

/// The file as a URI under which SQLite reads it and nothing beside it, not even a journal.
std::string immutable_uri(const std::filesystem::path& path);

/// Whether a journal with something in it lies beside a database: it was not closed by its writer,
/// and what it holds cannot be relied on.
bool is_being_written(const std::filesystem::path& path);

/// A read-only connection that believes nothing the file says: no triggers, views or functions of
/// its schema run, cells are bounds-checked, it is opened immutable, so that not even a journal
/// beside it is looked at, and no statement runs for longer than reading the whole file could take,
/// so that pages that lead in circles end in an Error.
class Database {
 public:
  /// Throws Error where the file cannot be opened as a database.
  explicit Database(const std::filesystem::path& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool has_table(std::string_view table) const;
  std::vector<std::string> columns(std::string_view table) const;
  sqlite3* handle() const { return db_; }
  std::int64_t size_bytes() const { return size_bytes_; }
  const std::string& shown_path() const { return shown_path_; }

 private:
  friend class Query;
  void renew_budget() const { budget_ = whole_budget_; }

  sqlite3* db_ = nullptr;
  std::string shown_path_;
  std::int64_t size_bytes_ = 0;
  std::int64_t whole_budget_ = 0;  // of a statement, in calls of the progress handler
  mutable std::int64_t budget_ = 0;
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

}  // namespace gh
