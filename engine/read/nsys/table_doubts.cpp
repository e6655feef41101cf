#include "read/nsys/table_doubts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "read/nsys/string_ids.hpp"

namespace gh::nsys {
namespace {

// None of 97 recordings lacks a row or has an invalid one.
constexpr double most_gone = 0.02, most_malformed = 0.02;
// In 85 recordings kernels with the same name had the same registers, except a few compiled by
// Triton. Two libraries may contain the same template.
constexpr double most_others = 0.2;
// A single empty table among this many with rows was emptied by someone.
constexpr std::ptrdiff_t least_filled = 4;
// Cutting a report to part of its time cuts nearly every table. One in this many is not a cut.
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

// The row ids of a table, unless they are another column's values.
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

// The table's columns for our name, the preferred one first.
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

// How many rows are missing between others. Exports hold the rows of each thread in order of time,
// and threads in any order. So if ids are missing between two consecutive rows of a thread, those
// rows were between them, and not before or after the part of the report that somebody kept.
std::int64_t gone_from_between(const Table& table, const Database& db) {
  const auto selected = [&](const char* ours) {
    const std::vector<std::string> columns = columns_of(table, ours, db);
    return columns.empty() ? std::string("NULL") : quoted_name(columns.front());
  };
  Query rows(db, fmt::format("SELECT rowid, {}, {} FROM {} ORDER BY rowid", selected("start"),
                             selected("thread"), quoted_name(table.name)));
  enum { id, start, thread };
  constexpr std::int64_t most = std::int64_t{1} << 40;  // prevents overflow in sums
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

std::vector<const Table*> lacking_tables(const std::deque<Table>& tables, const Database& db) {
  std::vector<const Table*> lacking;
  for (const Table& table : tables) {
    if (lacks_rows(table, db)) lacking.push_back(&table);
  }
  return lacking;
}

bool is_cut(std::size_t lacking, const std::deque<Table>& tables) {
  const auto filled = static_cast<std::size_t>(std::count_if(
      tables.begin(), tables.end(), [](const Table& table) { return rows_of(table).rows > 0; }));
  return lacking > std::max<std::size_t>(1, filled / least_whole);
}

void add_gone(const std::deque<Table>& tables, const Database& db, std::vector<Doubt>& doubts) {
  const std::vector<const Table*> lacking = lacking_tables(tables, db);
  if (is_cut(lacking.size(), tables)) return;
  for (const Table* table : lacking) {
    const std::int64_t gone = gone_from_between(*table, db);
    doubts.push_back({gone, rows_of(*table).rows + gone, most_gone,
                      fmt::format("rows of table {} are missing", table->name)});
  }
}

// Checks a sample of the kernels, which shows as much as all of them.
class KernelsLookedAt {
 public:
  KernelsLookedAt(const Table& kernels, const Database& db)
      : table_(kernels), db_(db), ids_(row_ids(db, kernels.name)), strings_(db) {}

  // "kernel.<column>" for each of our names, the preferred one; empty if any is missing.
  std::vector<std::string> columns(const std::vector<const char*>& ours) const {
    std::vector<std::string> list;
    for (const char* column : ours) {
      const std::vector<std::string> theirs = columns_of(table_, column, db_);
      if (!theirs.empty()) list.push_back("kernel." + quoted_name(theirs.front()));
    }
    return list.size() == ours.size() ? list : std::vector<std::string>();
  }

  // Counts the sampled kernels, and those that are wrong. `is_wrong` gets a kernel's columns, and
  // returns nothing for one that it cannot judge.
  template <class IsWrong>
  Doubt doubt(const std::vector<std::string>& columns, double most, const char* what,
              IsWrong is_wrong) {
    Doubt d{0, 0, most, fmt::format("sampled kernels {}", what)};
    if (!ids_ || ids_->last < 1) return d;
    Query kernel(db_, fmt::format("SELECT {} FROM {} AS kernel WHERE kernel.rowid = ?1",
                                  fmt::join(columns, ", "), quoted_name(table_.name)));
    constexpr std::int64_t most_looked_at = 400;
    for (std::int64_t i = 0; i < std::min(ids_->last, most_looked_at); ++i) {
      kernel.reset();
      // Not every n-th, because a repeating pattern could hide.
      kernel.bind(1, 1 + static_cast<std::int64_t>(
                             (static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15 >> 20) %
                             static_cast<std::uint64_t>(ids_->last)));
      if (!kernel.step()) continue;
      const std::optional<bool> wrong = is_wrong(kernel);
      d.of += wrong.has_value();
      d.count += wrong.value_or(false);
    }
    return d;
  }

  // The text whose id a column holds. Few kernels make up most launches.
  const std::optional<std::string>& text(const Query& kernel, int column) {
    static const std::optional<std::string> none;
    if (!kernel.is_integer(column)) return none;
    const auto [it, added] = texts_.try_emplace(kernel.integer(column));
    if (added) it->second = strings_.find(it->first);
    return it->second;
  }

 private:
  const Table& table_;
  const Database& db_;
  const std::optional<RowIds> ids_;
  StringIds strings_;
  std::map<std::int64_t, std::optional<std::string>> texts_;  // by id
};

void add_kernels_looked_at(const Table& table, const Database& db, std::vector<Doubt>& doubts) {
  KernelsLookedAt kernels(table, db);
  // A kernel's full name contains its short one; of long ones only the beginning.
  if (const auto c = kernels.columns({"name", "short_name"}); !c.empty()) {
    constexpr std::size_t beginning = 16;
    doubts.push_back(kernels.doubt(
        c, most_malformed, "have a full name that does not contain their short one",
        [&](const Query& kernel) -> std::optional<bool> {
          const auto &whole = kernels.text(kernel, 0), &its_short = kernels.text(kernel, 1);
          if (!whole || !its_short) return std::nullopt;
          return whole->find(std::string_view(*its_short).substr(0, beginning)) == whole->npos;
        }));
  }
  // C++ mangles argument types into the name, so the demangled name has them too.
  if (const auto c = kernels.columns({"name", "mangled_name", "short_name"});
      !c.empty() && c[0] != c[2]) {
    doubts.push_back(kernels.doubt(
        c, most_malformed, "have argument types only in their mangled name",
        [&](const Query& kernel) -> std::optional<bool> {
          const auto &whole = kernels.text(kernel, 0), &mangled = kernels.text(kernel, 1);
          if (!whole || !mangled || !mangled->starts_with("_Z") || whole->starts_with("_Z"))
            return std::nullopt;
          return whole->find('(') == whole->npos;
        }));
  }
  // The compiler decides a kernel's registers, and in C++ its name contains everything that it was
  // compiled for. Names in other languages do not. Another GPU, or another process with its own
  // libraries, runs other code.
  if (const auto c = kernels.columns({"name", "device", "process", "registers"}); !c.empty()) {
    std::map<std::array<std::int64_t, 3>, std::int64_t> registers_of;
    doubts.push_back(kernels.doubt(
        c, most_others, "have the name of a kernel with other registers",
        [&](const Query& kernel) -> std::optional<bool> {
          const auto& whole = kernels.text(kernel, 0);
          if (!whole || whole->find('(') == whole->npos) return std::nullopt;
          const std::array code{kernel.integer(0), kernel.integer(1), kernel.integer(2)};
          const std::int64_t count = kernel.integer(3);
          return registers_of.emplace(code, count).first->second != count;
        }));
  }
}

}  // namespace

std::vector<Doubt> doubts_of_tables(const std::deque<Table>& tables, const Database& db) {
  std::vector<Doubt> doubts;
  for (const Table& table : tables) {
    const RowCount count = rows_of(table);
    doubts.push_back({count.malformed, count.rows, most_malformed,
                      fmt::format("rows of table {} are invalid", table.name)});
    if (std::string_view(table.kind->name) != "kernel") continue;
    add_kernels_looked_at(table, db, doubts);
  }
  add_gone(tables, db, doubts);
  return doubts;
}

std::set<std::string> emptied_kinds(const std::deque<Table>& tables, const Database& db,
                                    Trace& trace) {
  const auto is_empty = [](const Table& table) { return rows_of(table).rows == 0; };
  const std::ptrdiff_t empty = std::count_if(tables.begin(), tables.end(), is_empty),
                       filled = static_cast<std::ptrdiff_t>(tables.size()) - empty;
  if (empty == 0 || empty * least_filled > filled) return {};
  // A cut empties only tables whose rows were all in the other part. Memory allocated before the
  // recording is recorded at its beginning.
  const bool cut = is_cut(lacking_tables(tables, db).size(), tables);
  std::set<std::string> kinds;
  for (const Table& table : tables) {
    if (!is_empty(table) || !is_of_a_source(table)) continue;
    kinds.insert(table.kind->name);
    if (cut || std::string_view(table.kind->name) == "memory_use") continue;
    trace.doubt(
        fmt::format("table {} is empty, but `nsys export` leaves out empty tables", table.name));
  }
  return kinds;
}

}  // namespace gh::nsys
