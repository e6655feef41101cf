#include "read/nsys/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "base/schema_table.hpp"

namespace gh::nsys {
namespace {

using Node = toml::node_view<const toml::node>;

TableSchema table_in(const Node& node) {
  TableSchema table{strings(node["tables"]), strings(node["required"]), {}};
  if (const toml::table* columns = node["columns"].as_table()) {
    for (const auto& [name, candidates] : *columns) {
      table.columns[std::string(name.str())] = strings(Node(candidates));
    }
  }
  return table;
}

SourceSchema source_in(const Node& node) {
  return {.kinds = strings(node["kinds"]),
          .collected_if = strings(node["collected_if"]),
          .blind_if = strings(node["blind_if"]),
          .lost_if = strings(node["lost_if"]),
          .tracer = node["tracer"].value_or(std::string()),
          .record_with = node["record_with"].value_or(std::string())};
}

struct Schema {
  std::vector<std::string> signature;
  std::map<std::string, TableSchema, std::less<>> tables;
  std::map<std::string, SourceSchema, std::less<>> sources;
};

const Schema& schema() {
  static const Schema parsed = [] {
    const toml::table toml = schema_table("schemas/nsys.toml");
    Schema s;
    s.signature = strings(toml["report"]["signature"]);
    for (const auto& [kind, node] : *toml["table"].as_table()) {
      s.tables[std::string(kind.str())] = table_in(Node(node));
    }
    for (const auto& [source, node] : *toml["source"].as_table()) {
      s.sources[std::string(source.str())] = source_in(Node(node));
    }
    return s;
  }();
  return parsed;
}

template <class Described>
const Described& described(const std::map<std::string, Described, std::less<>>& all,
                           std::string_view section, std::string_view name) {
  const auto it = all.find(name);
  if (it == all.end()) {
    throw std::logic_error(fmt::format("schemas/nsys.toml: there is no [{}.{}]", section, name));
  }
  return it->second;
}

}  // namespace

const TableSchema& table_schema(std::string_view kind) {
  return described(schema().tables, "table", kind);
}

std::vector<std::string> tables_in(const Database& report, std::string_view kind) {
  std::vector<std::string> tables = table_schema(kind).tables;
  std::erase_if(tables, [&](const std::string& table) { return !report.has_table(table); });
  return tables;
}

const SourceSchema& source_schema(Source source) {
  return described(schema().sources, "source", name_of(source));
}

const std::vector<std::string>& signature() { return schema().signature; }

}  // namespace gh::nsys
