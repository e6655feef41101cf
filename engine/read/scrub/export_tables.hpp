// The tables of an export, as SQLite tells them, and which of them a copy has.
#pragma once
#include <string>
#include <vector>

#include "read/sqlite.hpp"

namespace gh::scrubbing {

struct Column {
  std::string name, type;
  int key = 0;            ///< its place in the primary key, from 1 on; 0 where it is no part of it
  bool is_known = false;  ///< to schemas/scrub.toml
};
struct Table {
  std::string name;
  bool is_kept = false;  ///< known to schemas/scrub.toml, with columns that are
  std::vector<Column> columns;
  std::vector<std::string> string_ids;  ///< columns that refer to StringIds
};

/// In order of name, without SQLite's own and virtual ones. Throws Error where there are more than
/// an export has, or where a column is computed: what it holds stands in no row.
std::vector<Table> tables_of(const Database& db);

bool has_column(const Table& table, std::string_view name);

/// Views and triggers, which are not copied: "view NAME".
std::vector<std::string> views_and_triggers_of(const Database& db);

}  // namespace gh::scrubbing
