#include "read/scrub/export_tables.hpp"

#include <re2/re2.h>

#include <algorithm>

#include "read/private_data.hpp"

namespace gh::scrubbing {

std::vector<Table> tables_of(const Database& db) {
  const Globs& known = private_data_schema().nsys.strings;
  std::vector<Table> tables;
  Query names(db,
              "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name "
              "NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name");
  while (names.step()) {
    Table t{std::string(names.text(0)), {}, {}};
    const std::string sql(names.text(1));
    Query columns(db, "PRAGMA table_info(" + quoted_name(t.name) + ")");
    while (columns.step()) {
      t.columns.push_back({std::string(columns.text(1)), std::string(columns.text(2)),
                           static_cast<int>(columns.integer(5))});
      const std::string& column = t.columns.back().name;
      // "nameId INTEGER NOT NULL, -- REFERENCES StringIds(id) -- Function name"
      const bool says_so = RE2::PartialMatch(
          sql, "(?m)^\\s*\"?" + RE2::QuoteMeta(column) + "\"?\\s[^\\n]*REFERENCES StringIds\\b");
      if (says_so || std::find(known.begin(), known.end(), column) != known.end()) {
        t.string_ids.push_back(column);
      }
    }
    if (!t.columns.empty()) tables.push_back(std::move(t));
  }
  return tables;
}

}  // namespace gh::scrubbing
