#include "read/nsys/table_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

namespace gh::nsys {
namespace {

// Of 97 recordings none lacks a row or has one that makes no sense.
constexpr double most_gone = 0.02, most_malformed = 0.02;
// In 85 recordings kernels of one name had the same registers, but for a few that Triton compiled;
// two libraries may hold the same template.
constexpr double most_others = 0.2;
// One empty table among so many with rows was emptied.
constexpr std::ptrdiff_t least_filled = 4;
// Whoever cuts a report to a part of its time cuts nearly every table. One in so many was not cut.
constexpr std::size_t least_whole = 3;

RowCount rows_of(const Table& table) {
  RowCount all;
  for (const Part& part : table.parts) {
    all.rows += part.count.rows;
    all.malformed += part.count.malformed;
  }
  return all;
}

// Whether any source needs a kind of table.
bool is_of_a_source(const Table& table) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Source::count); ++i) {
    const std::vector<std::string>& kinds = source_schema(static_cast<Source>(i)).kinds;
    if (std::find(kinds.begin(), kinds.end(), table.kind->name) != kinds.end()) return true;
  }
  return false;
}

// The numbers of a table's rows, where these are nothing else that is written in them.
std::optional<RowIds> numbers_of(const Table& table, const Database& db) {
  if (!table.layout || std::any_of(table.layout->columns.begin(), table.layout->columns.end(),
                                   [](const auto& column) { return column.is_row_id; })) {
    return std::nullopt;
  }
  return row_ids(db, table.name);
}

bool lacks_rows(const Table& table, const Database& db) {
  const std::optional<RowIds> ids = numbers_of(table, db);
  return ids && ids->last > rows_of(table).rows;
}

// The columns of a table that we call so, the preferred one first.
std::vector<std::string> columns_of(const Table& table, const char* ours, const Database& db) {
  const auto& columns = table_schema(table.kind->name).columns;
  const auto described = columns.find(ours);
  std::vector<std::string> list;
  if (described == columns.end()) return list;
  const std::vector<std::string> present = db.columns(table.name);
  for (const std::string& name : described->second) {
    if (std::find(present.begin(), present.end(), name) != present.end()) list.push_back(name);
  }
  return list;
}

// How many rows are gone from between others. Exports hold the rows of a thread in order of time,
// and threads in any: what lacks between two rows of a thread, of which the second is later, was
// between them, and not before or after the part of a report that somebody kept.
std::int64_t gone_from_between(const Table& table, const Database& db) {
  const auto selected = [&](const char* ours) {
    const std::vector<std::string> columns = columns_of(table, ours, db);
    return columns.empty() ? std::string("NULL") : quoted_name(columns.front());
  };
  Query rows(db, fmt::format("SELECT rowid, {}, {} FROM {} ORDER BY rowid", selected("start"),
                             selected("thread"), quoted_name(table.name)));
  enum { id, start, thread };
  constexpr std::int64_t most = std::int64_t{1} << 40;  // so that sums do not overflow
  std::int64_t gone = 0, last_id = 0, last_start = 0, last_thread = 0;
  for (bool first = true; rows.step(); first = false) {
    const bool follows =
        !first && rows.integer(thread) == last_thread && rows.integer(start) >= last_start;
    if (follows && rows.integer(id) - 1 > last_id) {
      const auto hole =
          static_cast<std::uint64_t>(rows.integer(id)) - static_cast<std::uint64_t>(last_id) - 1;
      gone = std::min<std::int64_t>(
          most, gone + static_cast<std::int64_t>(std::min<std::uint64_t>(hole, most)));
    }
    last_id = rows.integer(id);
    last_start = rows.integer(start);
    last_thread = rows.integer(thread);
  }
  return gone;
}

void add_gone(const std::deque<Table>& tables, const Database& db, std::vector<Doubt>& doubts) {
  std::size_t filled = 0;
  std::vector<const Table*> lacking;
  for (const Table& table : tables) {
    filled += rows_of(table).rows > 0;
    if (lacks_rows(table, db)) lacking.push_back(&table);
  }
  if (lacking.size() > std::max<std::size_t>(1, filled / least_whole)) return;
  for (const Table* table : lacking) {
    const std::int64_t gone = gone_from_between(*table, db);
    doubts.push_back({gone, rows_of(*table).rows + gone, most_gone,
                      fmt::format("rows of table {} are gone", table->name)});
  }
}

// Some rows of a table, by their numbers, as much alike as all. Not every n-th: what repeats itself
// would hide.
std::vector<std::int64_t> some_rows(std::int64_t last) {
  constexpr std::int64_t most = 400;
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < std::min(last, most); ++i) {
    rows.push_back(
        1 + static_cast<std::int64_t>((static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15 >> 20) %
                                      static_cast<std::uint64_t>(last)));
  }
  return rows;
}

// A kernel's whole name holds its short one, of which long ones keep only the beginning.
void add_names_that_differ(const Table& kernels, const Database& db, std::vector<Doubt>& doubts) {
  const std::vector<std::string> names = columns_of(kernels, "name", db);
  const std::optional<RowIds> ids = row_ids(db, kernels.name);
  if (names.size() < 2 || !ids || ids->last < 1 || !db.has_table("StringIds")) return;
  Query differs(
      db, fmt::format("SELECT instr(whole.value, substr(short.value, 1, 16)) = 0 FROM "
                      "{0} AS kernel JOIN StringIds AS whole ON whole.id = kernel.{1} "
                      "JOIN StringIds AS short ON short.id = kernel.{2} "
                      "WHERE kernel.rowid = ?1",
                      quoted_name(kernels.name), quoted_name(names[0]), quoted_name(names[1])));
  std::int64_t looked_at = 0, differ = 0;
  for (const std::int64_t row : some_rows(ids->last)) {
    differs.reset();
    differs.bind(1, row);
    if (!differs.step()) continue;
    ++looked_at;
    differ += differs.integer(0) != 0;
  }
  doubts.push_back({differ, looked_at, most_malformed,
                    "kernels that were looked at have a short name that their whole one lacks"});
}

// A compiler gives a kernel its registers, and C++ writes all that it was compiled for into its
// name. Names of other languages do not tell.
void add_names_of_many(const Table& kernels, const Database& db, std::vector<Doubt>& doubts) {
  const std::vector<std::string> names = columns_of(kernels, "name", db),
                                 registers = columns_of(kernels, "registers", db);
  const std::optional<RowIds> ids = row_ids(db, kernels.name);
  if (names.empty() || registers.empty() || !ids || ids->last < 1 || !db.has_table("StringIds")) {
    return;
  }
  Query kernel(
      db, fmt::format("SELECT kernel.{1}, kernel.{2} FROM {0} AS kernel JOIN StringIds AS "
                      "name ON name.id = kernel.{1} WHERE kernel.rowid = ?1 AND "
                      "instr(name.value, '(') > 0",
                      quoted_name(kernels.name), quoted_name(names[0]), quoted_name(registers[0])));
  enum { name, register_count };
  std::map<std::int64_t, std::int64_t> registers_of;
  std::int64_t looked_at = 0, others = 0;
  for (const std::int64_t row : some_rows(ids->last)) {
    kernel.reset();
    kernel.bind(1, row);
    if (!kernel.step()) continue;
    ++looked_at;
    const std::int64_t count = kernel.integer(register_count);
    others += registers_of.emplace(kernel.integer(name), count).first->second != count;
  }
  doubts.push_back({others, looked_at, most_others,
                    "kernels that were looked at have the name of one with other registers"});
}

}  // namespace

std::vector<Doubt> doubts_of_tables(const std::deque<Table>& tables, const Database& db) {
  std::vector<Doubt> doubts;
  for (const Table& table : tables) {
    const RowCount count = rows_of(table);
    doubts.push_back({count.malformed, count.rows, most_malformed,
                      fmt::format("rows of table {} make no sense", table.name)});
    if (std::string_view(table.kind->name) != "kernel") continue;
    add_names_that_differ(table, db, doubts);
    add_names_of_many(table, db, doubts);
  }
  add_gone(tables, db, doubts);
  return doubts;
}

std::set<std::string> emptied_kinds(const std::deque<Table>& tables, Trace& trace) {
  const auto is_empty = [](const Table& table) { return rows_of(table).rows == 0; };
  const std::ptrdiff_t empty = std::count_if(tables.begin(), tables.end(), is_empty),
                       filled = static_cast<std::ptrdiff_t>(tables.size()) - empty;
  if (empty * least_filled > filled) return {};
  std::set<std::string> kinds;
  for (const Table& table : tables) {
    if (!is_empty(table) || !is_of_a_source(table)) continue;
    kinds.insert(table.kind->name);
    trace.doubt(
        fmt::format("table {} is empty, and `nsys export` writes no such tables", table.name));
  }
  return kinds;
}

}  // namespace gh::nsys
