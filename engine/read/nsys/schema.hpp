// schemas/nsys.toml: which tables and columns of an export hold what, in every version of the
// schema. A new name of a table or column goes there; a new column that we want also goes to the
// function that reads that kind of row (rows.hpp).
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "read/sqlite.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// [table.KIND]: where one kind of row stands.
struct TableSchema {
  std::vector<std::string> tables;    ///< all names that the table has had
  std::vector<std::string> required;  ///< our names of columns without which it cannot be read
  std::map<std::string, std::vector<std::string>, std::less<>>
      columns;  ///< our name of a column: the names that it has had
};
const TableSchema& table_schema(std::string_view kind);

/// The tables of a kind that a report has.
std::vector<std::string> tables_in(const Database& report, std::string_view kind);

/// [source.KIND]: how to tell "not recorded" from "nothing happened".
struct SourceSchema {
  std::vector<std::string> kinds, collected_if, blind_if, lost_if;
  std::string tracer, record_with;
};
const SourceSchema& source_schema(Source source);

/// Tables of which an export has at least one.
const std::vector<std::string>& signature();

}  // namespace gh::nsys
