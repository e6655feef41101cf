#include "read/nsys/table_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"

namespace gh::nsys {
namespace {

constexpr int absent = -1;

std::vector<std::string> columns_of(const TablePart& from) {
  if (!from.file) return from.db.columns(from.table);
  std::vector<std::string> names;
  for (const TableLayout::Column& column : from.layout->columns) names.push_back(column.name);
  return names;
}

// The position of the first candidate that the table has.
int position_of(const std::vector<std::string>& candidates,
                const std::vector<std::string>& present) {
  for (const std::string& candidate : candidates) {
    const auto it = std::find(present.begin(), present.end(), candidate);
    if (it != present.end()) return static_cast<int>(it - present.begin());
  }
  return absent;
}

}  // namespace

std::string malformed_rows(std::string_view table, std::int64_t n) {
  return fmt::format("skipped {} invalid row{} of table {} (wrong type, or end before start)", n,
                     n == 1 ? "" : "s", table);
}

TableReader::TableReader(const TablePart& from, const std::vector<std::string>& wanted,
                         std::vector<std::string>& problems, RowCount* count)
    : problems_(problems), table_(from.table), add_count_to_(count) {
  const TableSchema& schema = table_schema(from.kind);
  const std::vector<std::string> present = columns_of(from);
  std::string selected;
  std::vector<int> positions;
  for (const std::string& name : wanted) {
    const auto described = schema.columns.find(name);
    const std::vector<std::string> candidates =
        described == schema.columns.end() ? std::vector<std::string>() : described->second;
    const int position = position_of(candidates, present);
    const bool is_required =
        std::find(schema.required.begin(), schema.required.end(), name) != schema.required.end();
    if (position == absent && is_required) {
      problems_.push_back(fmt::format("table {} was not read, because it has no column '{}'",
                                      table_, fmt::join(candidates, "' or '")));
      return;
    }
    positions.push_back(position);
    required_.push_back(is_required);
    selected += selected.empty() ? "" : ", ";
    selected +=
        position == absent ? "NULL" : '"' + present[static_cast<std::size_t>(position)] + '"';
  }
  if (from.file) {
    pages_.emplace(*from.file, *from.layout, from.leaves, positions);
  } else {
    query_.emplace(from.db, fmt::format("SELECT {} FROM \"{}\"", selected, table_));
  }
}

TableReader::TableReader(const Database& db, std::string kind, std::string table,
                         const std::vector<std::string>& wanted, std::vector<std::string>& problems)
    : TableReader(
          TablePart{.db = db, .kind = std::move(kind), .table = std::move(table), .leaves = {}},
          wanted, problems) {}

TableReader::~TableReader() {
  if (add_count_to_) {
    add_count_to_->rows += count_.rows;
    add_count_to_->malformed += count_.malformed;
  } else if (count_.malformed) {
    problems_.push_back(malformed_rows(table_, count_.malformed));
  }
}

std::size_t TableReader::expected_rows(const Database& db) const {
  if (pages_) return pages_->expected_rows();
  if (!query_) return 0;
  const std::optional<RowIds> ids = row_ids(db, table_);
  // A file cannot contain more rows than it has bytes for.
  return ids ? static_cast<std::size_t>(
                   std::clamp<std::int64_t>(ids->last, 0, db.size_bytes() / 16))
             : 0;
}

}  // namespace gh::nsys
