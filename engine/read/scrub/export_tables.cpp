#include "read/scrub/export_tables.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>

#include "base/text.hpp"
#include "read/private_data.hpp"

namespace gh::scrubbing {
namespace {

// Exports have about 200.
constexpr std::int64_t most_tables = 2000;

bool has(const Globs& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void read_columns(const Database& db, const std::string& sql, Table& t) {
  const PrivateDataSchema::Nsys& schema = private_data_schema().nsys;
  db.refuse_computed_columns(t.name);
  Query columns(db, "PRAGMA table_info(" + quoted_name(t.name) + ")");
  while (columns.step()) {
    const std::string column(columns.text(1));
    const bool is_known = has(schema.columns, column);
    t.is_kept = t.is_kept || is_known;
    t.columns.push_back(
        {column, std::string(columns.text(2)), static_cast<int>(columns.integer(5)), is_known});
    // "nameId INTEGER NOT NULL, -- REFERENCES StringIds(id) -- Function name"
    const bool says_so = RE2::PartialMatch(
        sql, "(?m)^\\s*\"?" + RE2::QuoteMeta(column) + "\"?\\s[^\\n]*REFERENCES StringIds\\b");
    // What holds output is not kept, so none of its columns is known.
    const bool is_output = any_matches(schema.output, t.name);
    if ((is_known || is_output) && (says_so || has(schema.strings, column)))
      t.string_ids.push_back(column);
  }
  // Tables of names and values are kept only in part.
  const bool can_be_told =
      !schema.names.contains(t.name) || (has_column(t, "name") && has_column(t, "value"));
  t.is_kept = t.is_kept && can_be_told && any_matches(schema.keep, t.name);
}

}  // namespace

std::vector<Table> tables_of(const Database& db) {
  Query count(db, "SELECT count(*) FROM sqlite_master WHERE type = 'table'");
  if (count.step() && count.integer(0) > most_tables) {
    throw Error(fmt::format(
        "{}: has {} tables, but an Nsight Systems export has about 200; give a .sqlite file "
        "written by `nsys export --type sqlite`",
        db.shown_path(), count.integer(0)));
  }
  std::vector<Table> tables;
  Query names(db,
              "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name "
              "NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name");
  while (names.step()) {
    Table t{std::string(names.text(0)), false, {}, {}};
    read_columns(db, std::string(names.text(1)), t);
    if (!t.columns.empty()) tables.push_back(std::move(t));
  }
  return tables;
}

bool has_column(const Table& table, std::string_view name) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [&](const Column& c) { return c.name == name; });
}

std::vector<std::string> views_and_triggers_of(const Database& db) {
  std::vector<std::string> all;
  Query names(db,
              "SELECT type || ' ' || name FROM sqlite_master WHERE type IN ('view', 'trigger') "
              "ORDER BY 1 LIMIT 100");
  while (names.step()) all.emplace_back(names.text(0));
  return all;
}

}  // namespace gh::scrubbing
