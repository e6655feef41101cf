// The tables of an export according to SQLite, and which of them a copy keeps.
#pragma once
#include <string>
#include <vector>

#include "read/sqlite.hpp"

namespace gh::scrubbing {

struct Column {
  std::string name, type;
  int key = 0;            ///< its position in the primary key, from 1; 0 if not part of it
  bool is_known = false;  ///< to schemas/scrub.toml
};
struct Table {
  std::string name;
  bool is_kept = false;  ///< known to schemas/scrub.toml, with columns that are
  std::vector<Column> columns;
  std::vector<std::string> string_ids;  ///< columns that refer to StringIds
};

/// Sorted by name, without SQLite's own and virtual tables. Throws Error if there are more than an
/// export has, or if a column is computed, because no row contains its values.
std::vector<Table> tables_of(const Database& db);

bool has_column(const Table& table, std::string_view name);

/// Views and triggers, which are not copied: "view NAME".
std::vector<std::string> views_and_triggers_of(const Database& db);

}  // namespace gh::scrubbing
