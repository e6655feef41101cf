// The large tables of an export, read side by side in parts.
#pragma once
#include <atomic>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "read/nsys/rows.hpp"

namespace gh::nsys {

/// A table, and what its parts were read into.
struct Table {
  const RowKind* kind = nullptr;
  std::string name;
  std::optional<TableLayout> layout;
  std::vector<std::uint32_t> leaves;  ///< pages with its rows; none: SQLite reads it
  std::vector<Part> parts;            ///< in order of rows
  std::vector<Numbers> numbers;       ///< by worker
  std::atomic<bool> unexpected = false;
};

/// Reads all tables of all kinds that a report has, as many parts at a time as there are threads,
/// each by a connection of its own to the report at `path`. The order of tables is that of
/// row_kinds.
std::deque<Table> read_tables(const std::filesystem::path& path, const Database& db);

}  // namespace gh::nsys
