// Reads rows of a table directly from the pages of an SQLite file
// (https://www.sqlite.org/fileformat2.html). This takes a quarter of the time of stepping through a
// statement, and works on any number of threads. It supports only what exports contain: UTF-8,
// tables with row ids, no generated columns. Every offset is checked against its page. If anything
// is unexpected it throws UnexpectedPage; SQLite then reads that table, and says what is wrong with
// it.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read/sqlite.hpp"

namespace gh {

/// Numbers of the file format, most significant byte first.
inline std::uint32_t big16(const unsigned char* p) {
  return static_cast<std::uint32_t>(p[0]) << 8 | p[1];
}
inline std::uint32_t big32(const unsigned char* p) { return big16(p) << 16 | big16(p + 2); }
inline std::uint64_t big64(const unsigned char* p) {
  return std::uint64_t{big32(p)} << 32 | big32(p + 4);
}

/// Not an Error, because it is always caught.
struct UnexpectedPage {};

/// An SQLite file as numbered pages, starting at 1. Several threads may read at the same time.
class PageFile {
 public:
  /// Throws UnexpectedPage if it cannot be read this way.
  explicit PageFile(const std::filesystem::path& path);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  std::size_t page_bytes() const { return page_bytes_; }
  std::size_t usable_bytes() const { return usable_bytes_; }  ///< per page; the rest is reserved
  void read(std::uint32_t first, std::size_t count, unsigned char* to) const;
  /// The leaf pages below a table's root, in order of row ids.
  std::vector<std::uint32_t> leaves(std::uint32_t root) const;
  /// Counts bytes of rows that extend beyond their page: all rows together cannot contain more than
  /// the file.
  void count_overflow(std::size_t bytes) const;

 private:
  void add_leaves(std::uint32_t page, int depth, std::vector<bool>& seen,
                  std::vector<std::uint32_t>& out) const;
  int file_ = -1;
  std::size_t page_bytes_ = 0, usable_bytes_ = 0;
  std::uint64_t pages_ = 0;
  mutable std::atomic<std::uint64_t> overflow_bytes_ = 0;
};

/// Where a table begins, and its columns in the order in which rows store them.
struct TableLayout {
  struct Column {
    std::string name;
    bool is_row_id = false;  ///< its value is the row id, and the row stores NULL in its place
    /// Rows written before the column was added store nothing for it.
    bool has_default = false;
    bool is_real = false;  ///< whole numbers in it are still floating point
  };
  std::uint32_t root = 0;
  std::vector<Column> columns;
};

/// Nothing if the table is of a kind that is not read from pages.
std::optional<TableLayout> layout_of(const Database& db, std::string_view table);

/// Steps through the rows on some of a table's leaf pages, like Query. Values are valid until the
/// next step.
class PageRows {
 public:
  /// `wanted` are positions in the layout's columns, or -1 for columns that the table does not
  /// have, which read as NULL. File, layout and leaves must outlive the rows.
  PageRows(const PageFile& file, const TableLayout& layout, std::span<const std::uint32_t> leaves,
           const std::vector<int>& wanted);

  /// An estimate that is usually too high: an eighth more rows on every page than on the first one.
  std::size_t expected_rows() const { return (cells_ + cells_ / 8) * leaves_.size(); }
  bool step();

  bool is_null(int column) const { return type_of(column) == null; }
  bool is_integer(int column) const {
    const std::uint64_t t = type_of(column);
    return (t >= 1 && t <= 9 && t != real_number) || t == row_id;
  }
  bool is_text(int column) const {
    return type_of(column) >= first_blob && type_of(column) != row_id;
  }
  std::int64_t integer(int column) const {
    const Value& value = shape_->values[static_cast<std::size_t>(column)];
    if (value.type >= 1 && value.type <= 6) {
      return static_cast<std::int64_t>(big64(row_ + value.at)) >>
             (64 - 8 * integer_bytes[value.type]);  // shifts out what follows
    }
    return value.type == row_id ? id_ : value.type == 9 ? 1 : 0;
  }
  double real(int column) const;
  std::string_view text(int column) const;

 private:
  // Serial types of the file format, and one of ours.
  static constexpr std::uint64_t null = 0, real_number = 7, first_blob = 12,
                                 row_id = ~std::uint64_t{0};
  static constexpr std::array<std::uint8_t, 7> integer_bytes{0, 1, 2, 3, 4, 6, 8};  // by type
  struct Value {
    std::uint64_t type = null;
    std::size_t at = 0;
  };

  // What a row's header says. Most rows of a table share a few headers, so shapes are cached by the
  // header's hash.
  struct Shape {
    std::vector<unsigned char> header;
    std::vector<Value> values;  // by wanted column
    std::size_t end = 0;        // of the last wanted column
  };

  std::uint64_t type_of(int column) const {
    return shape_->values[static_cast<std::size_t>(column)].type;
  }
  std::size_t at(int column) const { return shape_->values[static_cast<std::size_t>(column)].at; }
  void begin_page();
  void decode(const unsigned char* page, const unsigned char* cell);
  void read_header(std::span<const unsigned char> header, Shape& shape);
  void gather_overflow(const unsigned char* local, std::size_t local_bytes, std::size_t bytes);

  const PageFile& file_;
  const TableLayout& layout_;
  std::vector<int> wanted_;
  std::size_t columns_ = 0;  // of a row: up to the last wanted one
  std::span<const std::uint32_t> leaves_;
  // Some of the pages, of which the first is leaves_[first_]: few enough to fit in the processor's
  // cache.
  std::vector<unsigned char> pages_;
  std::size_t first_ = 0, held_ = 0;
  std::vector<unsigned char> whole_;    // a row that extends beyond its page
  const unsigned char* row_ = nullptr;  // the payload: on its page, or in whole_
  std::array<Shape, 16> shapes_;
  const Shape* shape_ = nullptr;  // of the current row
  std::vector<Value> stored_;     // by column of the table, while reading a header
  std::int64_t id_ = 0;
  std::size_t page_ = 0, cell_ = 0, cells_ = 0;  // page_ is a position in leaves_
};

}  // namespace gh
