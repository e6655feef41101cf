// Reads the large tables of an export, several parts at a time.
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
  std::vector<std::uint32_t> leaves;  ///< pages with its rows; empty: SQLite reads it
  std::vector<Part> parts;            ///< in order of rows
  std::vector<Numbers> numbers;       ///< by worker
  std::atomic<bool> unexpected = false;
};

/// Reads all tables of all kinds in a report. Each thread reads one part at a time over its own
/// connection to the report at `path`. Tables are in the order of row_kinds.
std::deque<Table> read_tables(const std::filesystem::path& path, const Database& db);

}  // namespace gh::nsys
