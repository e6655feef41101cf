// Reads the rows of a table by our names of its columns, and judges whether each row is valid.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/limits.hpp"
#include "read/nsys/numbering.hpp"
#include "read/nsys/schema.hpp"
#include "read/sqlite.hpp"
#include "read/table_pages.hpp"

namespace gh::nsys {

/// The rows of a table, or those on some of its pages.
struct TablePart {
  const Database& db;
  std::string kind, table;
  const PageFile* file = nullptr;  ///< null: SQLite reads the whole table
  const TableLayout* layout = nullptr;
  std::span<const std::uint32_t> leaves;
};

/// How many rows were read, and how many of them were invalid.
struct RowCount {
  std::int64_t rows = 0, malformed = 0;
};

/// The message that `n` rows of a table were skipped.
std::string malformed_rows(std::string_view table, std::int64_t n);

/// Steps through rows of one kind, as described in schemas/nsys.toml, by pages or through SQLite.
class TableReader {
  template <class Ask>
  auto by_source(Ask ask) const {
    return pages_ ? ask(*pages_) : ask(*query_);
  }

 public:
  /// `wanted` are our names of the columns, in the order of the indices for `integer(i)` and
  /// `name(i)`. If the table lacks a required column, it adds a problem and returns no rows. Rows
  /// are counted in `count`; if that is null, invalid rows add a problem.
  TableReader(const TablePart& from, const std::vector<std::string>& wanted,
              std::vector<std::string>& problems, RowCount* count = nullptr);
  /// All rows of a table, through SQLite.
  TableReader(const Database& db, std::string kind, std::string table,
              const std::vector<std::string>& wanted, std::vector<std::string>& problems);
  ~TableReader();
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  /// The maximum number of rows, so that columns can be allocated at full size: growing them would
  /// need twice the memory.
  std::size_t expected_rows(const Database& db) const;

  /// The next row; false after the last.
  bool next() {
    const bool more = pages_ ? pages_->step() : query_ && query_->step();
    count_.rows += more;
    return more;
  }

  /// 0 for NULL.
  std::int64_t integer(int column) {
    return by_source([&](const auto& rows) -> std::int64_t {
      if (rows.is_integer(column)) return rows.integer(column);
      if (!rows.is_null(column) || required_[static_cast<std::size_t>(column)]) sound_ = false;
      return 0;
    });
  }
  double real(int column) {
    return by_source([&](const auto& rows) {
      if (rows.is_text(column) || rows.is_null(column)) sound_ = false;
      return rows.real(column);
    });
  }
  /// Valid until the next row, like `text`.
  FileNameView name(int column) {
    return by_source([&](const auto& rows) -> FileNameView {
      if (rows.is_null(column)) return {};
      return rows.is_text(column) ? FileNameView{-1, rows.text(column)}
                                  : FileNameView{integer(column), {}};
    });
  }
  bool is_null(int column) const {
    return by_source([&](const auto& rows) { return rows.is_null(column); });
  }
  std::string_view text(int column) const {
    return by_source([&](const auto& rows) { return rows.text(column); });
  }

  /// Whether the values requested since the last row were valid. Counts the row if they were not.
  bool sound(Ns start, Ns end) {
    const bool good = sound_ && start <= end && start > -absurd_ns && end < absurd_ns;
    sound_ = true;
    count_.malformed += !good;
    return good;
  }
  /// The same for a row without times.
  bool sound() { return sound(0, 0); }

 private:
  std::vector<std::string>& problems_;
  std::string table_;
  // One of these two is set, or neither if a required column is missing.
  std::optional<Query> query_;
  std::optional<PageRows> pages_;
  std::vector<std::uint8_t> required_;  // by column
  bool sound_ = true;
  RowCount count_;
  RowCount* add_count_to_;
};

/// Calls take(rows) for each row of each table of a kind. For the small tables that describe the
/// recording.
template <class Take>
void each_row(const Database& db, const char* kind, const std::vector<std::string>& wanted,
              std::vector<std::string>& problems, Take take) {
  for (const std::string& table : tables_in(db, kind)) {
    TableReader rows(db, kind, table, wanted, problems);
    while (rows.next()) take(rows);
  }
}

}  // namespace gh::nsys
