#include "read/nsys/tables.hpp"

#include <algorithm>
#include <memory>

#include "base/parallel.hpp"
#include "base/profile.hpp"

namespace gh::nsys {
namespace {

namespace fs = std::filesystem;

// Small enough that threads finish at about the same time, and that freeing a column of bytes
// returns its memory to the system.
constexpr std::size_t part_bytes = std::size_t{8} << 20;

std::deque<Table> tables_of(const Database& db) {
  std::deque<Table> tables;
  for (const RowKind& kind : row_kinds()) {
    for (const std::string& name : tables_in(db, kind.name)) {
      Table& table = tables.emplace_back();
      table.kind = &kind;
      table.name = name;
    }
  }
  return tables;
}

std::optional<PageFile> page_file(const fs::path& path) {
  try {
    return std::optional<PageFile>(std::in_place, path);
  } catch (const UnexpectedPage&) {
    return std::nullopt;
  }
}

// Parts of tables to read, in any order.
class PartsToRead {
 public:
  PartsToRead(const fs::path& path, const PageFile* file, const Deadline& deadline)
      : path_(path), file_(file), deadline_(deadline), connections_(thread_count()) {}

  // Cuts a table into parts with this many leaf pages each; into a single part if it is not read by
  // pages.
  void add(Table& table, std::size_t leaves_a_part) {
    const std::size_t leaves = table.leaves.size();
    table.parts.clear();
    table.numbers.clear();
    table.numbers.resize(thread_count());
    table.parts.resize(std::max<std::size_t>(1, (leaves + leaves_a_part - 1) / leaves_a_part));
    for (std::size_t i = 0; i < table.parts.size(); ++i) {
      const std::size_t first = i * leaves_a_part;
      parts_.push_back({&table, i, first, std::min(leaves_a_part, leaves - first)});
    }
  }

  void read() {
    in_parallel(parts_.size(),
                [&](std::size_t i, std::size_t worker) { read_part(parts_[i], worker); });
    parts_.clear();
  }

 private:
  struct PartToRead {
    Table* table;
    std::size_t number, first_leaf, leaves;
  };

  void read_part(const PartToRead& part_to_read, std::size_t worker) {
    Table& table = *part_to_read.table;
    if (table.unexpected) return;
    deadline_.check();
    if (!connections_[worker]) {
      connections_[worker] = std::make_unique<Database>(path_, deadline_);
    }
    Part& part = table.parts[part_to_read.number];
    part.worker = worker;
    part.numbers = &table.numbers[worker];
    TablePart from{
        .db = *connections_[worker], .kind = table.kind->name, .table = table.name, .leaves = {}};
    if (!table.leaves.empty()) {
      from.file = file_;
      from.layout = &*table.layout;
      from.leaves = std::span(table.leaves).subspan(part_to_read.first_leaf, part_to_read.leaves);
    }
    const Timed timed("read/" + table.name);
    try {
      table.kind->read(from, part);
    } catch (const UnexpectedPage&) {
      table.unexpected = true;
    }
  }

  const fs::path& path_;
  const PageFile* file_;
  const Deadline& deadline_;
  std::vector<std::unique_ptr<Database>> connections_;  // by worker
  std::vector<PartToRead> parts_;
};

}  // namespace

std::deque<Table> read_tables(const fs::path& path, const Database& db) {
  std::deque<Table> tables = tables_of(db);
  const std::optional<PageFile> file = page_file(path);
  PartsToRead parts(path, file ? &*file : nullptr, db.deadline());
  for (Table& table : tables) {
    if (file) {
      try {
        table.layout = layout_of(db, table.name);
        if (table.layout) table.leaves = file->leaves(table.layout->root);
      } catch (const UnexpectedPage&) {
        table.leaves.clear();
      }
    }
    parts.add(table, file ? part_bytes / file->page_bytes() : 1);
  }
  parts.read();

  // If a table's pages are not as expected, SQLite reads the whole table.
  for (Table& table : tables) {
    if (!table.unexpected) continue;
    table.unexpected = false;
    table.leaves.clear();
    parts.add(table, 1);
  }
  parts.read();
  return tables;
}

}  // namespace gh::nsys
