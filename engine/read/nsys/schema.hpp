// schemas/nsys.toml: which tables and columns of an export hold what, in every version of the
// schema. Add new names of tables or columns there. A newly needed column also goes into the
// function that reads that kind of row (rows.hpp).
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// [table.KIND]: where to find one kind of row.
struct TableSchema {
  std::vector<std::string> tables;    ///< all names that the table has had
  std::vector<std::string> required;  ///< our names of the columns without which it cannot be read
  std::map<std::string, std::vector<std::string>, std::less<>>
      columns;  ///< our name of a column: the names that it has had
};
const TableSchema& table_schema(std::string_view kind);

/// The tables of a kind that a report contains.
std::vector<std::string> tables_in(const Database& report, std::string_view kind);

/// [source.KIND]: how to tell "not recorded" from "nothing happened".
struct SourceSchema {
  std::vector<std::string> kinds, collected_if, blind_if, lost_if;
  std::string tracer, record_with;
};
const SourceSchema& source_schema(Source source);

/// An export contains at least one of these tables.
const std::vector<std::string>& signature();

}  // namespace gh::nsys
