// The tables of an export, as SQLite tells them.
#pragma once
#include <string>
#include <vector>

#include "read/sqlite.hpp"

namespace gh::scrubbing {

struct Column {
  std::string name, type;
  int key = 0;  ///< its place in the primary key, from 1 on; 0 where it is no part of it
};
struct Table {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::string> string_ids;  ///< columns that refer to StringIds
};

/// In order of name, without SQLite's own.
std::vector<Table> tables_of(const Database& db);

}  // namespace gh::scrubbing
