#include "read/nsys/table_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace gh::nsys {
namespace {

// Of 60 recordings none lacks a row or has one that makes no sense.
constexpr double most_gone = 0.02, most_malformed = 0.02;
constexpr std::ptrdiff_t most_emptied = 2;

RowCount rows_of(const Table& table) {
  RowCount all;
  for (const Part& part : table.parts) {
    all.rows += part.count.rows;
    all.malformed += part.count.malformed;
  }
  return all;
}

// The sources that need a kind of table.
std::vector<Source> sources_of(const Table& table) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i) {
    const std::vector<std::string>& kinds = source_schema(static_cast<Source>(i)).kinds;
    if (std::find(kinds.begin(), kinds.end(), table.kind->name) != kinds.end()) {
      sources.push_back(static_cast<Source>(i));
    }
  }
  return sources;
}

// The number of the last row; 0 where rows are numbered by something else.
std::int64_t last_number(const Table& table, const Database& db) {
  if (!table.layout || std::any_of(table.layout->columns.begin(), table.layout->columns.end(),
                                   [](const auto& column) { return column.is_row_id; })) {
    return 0;
  }
  Query last(db, "SELECT max(rowid) FROM " + quoted_name(table.name));
  return last.step() ? last.integer(0) : 0;
}

}  // namespace

void add_doubts(const std::deque<Table>& tables, const Database& db, std::vector<Doubt>& doubts) {
  for (const Table& table : tables) {
    const RowCount count = rows_of(table);
    const std::vector<Source> sources = sources_of(table);
    doubts.push_back({sources, count.malformed, count.rows, most_malformed,
                      fmt::format("rows of table {} make no sense", table.name)});
    const std::int64_t last = last_number(table, db);
    doubts.push_back({sources, last - count.rows, last, most_gone,
                      fmt::format("rows of table {} are gone", table.name)});
  }
}

std::set<std::string> emptied_kinds(const std::deque<Table>& tables) {
  const auto is_empty = [](const Table& table) { return rows_of(table).rows == 0; };
  if (std::count_if(tables.begin(), tables.end(), is_empty) > most_emptied) return {};
  std::set<std::string> kinds;
  for (const Table& table : tables) {
    if (is_empty(table)) kinds.insert(table.kind->name);
  }
  return kinds;
}

}  // namespace gh::nsys
