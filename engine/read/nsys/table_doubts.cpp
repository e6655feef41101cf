#include "read/nsys/table_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace gh::nsys {
namespace {

// Of 60 recordings none lacks a row or has one that makes no sense.
constexpr double most_gone = 0.02, most_malformed = 0.02;
// One empty table among so many with rows was emptied.
constexpr std::ptrdiff_t least_filled = 4;

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

// A kernel's whole name holds its short one, of which long ones keep only the beginning. Some of
// the rows, evenly spread, tell as much as all.
void add_names_that_differ(const Database& db, std::vector<Doubt>& doubts) {
  constexpr std::int64_t most_looked_at = 400;
  constexpr const char* kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!db.has_table(kernels) || !db.has_table("StringIds")) return;
  const std::vector<std::string> columns = db.columns(kernels);
  for (const char* needed : {"demangledName", "shortName"}) {
    if (std::find(columns.begin(), columns.end(), needed) == columns.end()) return;
  }
  Query last(db, fmt::format("SELECT max(rowid) FROM {}", kernels));
  const std::int64_t rows = last.step() ? last.integer(0) : 0;
  Query names(
      db, fmt::format(
              "SELECT instr(whole.value, substr(short.value, 1, 16)) > 0 FROM {} AS kernel JOIN "
              "StringIds AS whole ON whole.id = kernel.demangledName JOIN StringIds "
              "AS short ON short.id = kernel.shortName WHERE kernel.rowid = ?1",
              kernels));
  std::int64_t looked_at = 0, differ = 0;
  for (std::int64_t i = 0; i < std::min(rows, most_looked_at); ++i) {
    names.reset();
    // Not every n-th: what repeats itself would hide.
    names.bind(1, 1 + static_cast<std::int64_t>(
                          (static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15 >> 20) %
                          static_cast<std::uint64_t>(rows)));
    if (!names.step()) continue;
    ++looked_at;
    differ += names.integer(0) == 0;
  }
  doubts.push_back({{Source::kernels, Source::graph_nodes},
                    differ,
                    looked_at,
                    most_malformed,
                    "kernels that were looked at have a short name that their whole one lacks"});
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
  add_names_that_differ(db, doubts);
}

std::set<std::string> emptied_kinds(const std::deque<Table>& tables,
                                    std::vector<std::string>& problems) {
  const auto is_empty = [](const Table& table) { return rows_of(table).rows == 0; };
  const std::ptrdiff_t empty = std::count_if(tables.begin(), tables.end(), is_empty),
                       filled = static_cast<std::ptrdiff_t>(tables.size()) - empty;
  if (empty * least_filled > filled) return {};
  std::set<std::string> kinds;
  for (const Table& table : tables) {
    if (!is_empty(table) || sources_of(table).empty()) continue;
    kinds.insert(table.kind->name);
    problems.push_back(
        fmt::format("table {} is empty, and `nsys export` writes no such tables", table.name));
  }
  return kinds;
}

}  // namespace gh::nsys
