#include "read/environment.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "base/schema_table.hpp"
#include "read/private_data.hpp"
#include "read/sqlite.hpp"

namespace gh {
namespace {

// Patterns for the values, by name of the variable.
const std::map<std::string, std::unique_ptr<RE2>, std::less<>>& forms() {
  static const auto parsed = [] {
    std::map<std::string, std::unique_ptr<RE2>, std::less<>> forms;
    const toml::table schema = schema_table("schemas/environment.toml");
    for (const auto& [name, node] : *schema["variable"].as_table()) {
      const std::string form = toml::node_view(node)["form"].value_or(std::string());
      forms[std::string(name.str())] = std::make_unique<RE2>(form);
    }
    return forms;
  }();
  return parsed;
}

// Stores a variable if it is known. The first one with a name counts.
void take(std::string_view name, std::string_view value, KnownVariables& to) {
  const auto form = forms().find(name);
  if (form == forms().end()) return;
  const bool as_expected =
      RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *form->second);
  to.try_emplace(std::string(name), as_expected ? std::string(value) : "set");
}

// The same for NAME=value or NAME="value".
void take(std::string_view variable, KnownVariables& to) {
  const std::size_t equals = variable.find('=');
  if (equals == variable.npos) return;
  std::string_view value = variable.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  take(variable.substr(0, equals), value, to);
}

// A process's environment in the system's format: variables separated by NULs. No other text in a
// report contains NULs.
void take_all(std::string_view block, KnownVariables& to) {
  if (block.find('\0') == block.npos) return;
  for (const std::string_view variable : split(block, std::string_view("\0", 1)))
    take(variable, to);
}

// A table of names and values in which variables have these names.
void read_table(const Database& report, const std::string& table, const Globs& names,
                Environment& to) {
  if (names.empty() || !report.has_table(table)) return;
  const std::vector<std::string> columns = report.columns(table);
  const auto has = [&](const char* column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  if (!has("name")) return;
  const char* value = has("value") ? "value" : "NULL";
  Query rows(report, fmt::format("SELECT name, {} FROM {}", value, quoted_name(table)));
  while (rows.step()) {
    if (!any_matches(names, rows.text(0))) continue;
    ++to.variables;
    take(rows.text(1), to.known);
  }
}

// Before 2022 the environment was among the first strings, because processes begin before their
// events.
void read_first_strings(const Database& report, Environment& to) {
  if (!report.has_table("StringIds")) return;
  std::int64_t blocks = 0;
  Query texts(report, "SELECT value FROM StringIds WHERE id < 1000");
  while (texts.step()) {
    blocks += texts.text(0).starts_with("PATH=");
    take_all(texts.text(0), to.known);
  }
  if (to.variables == 0) to.variables = blocks;
}

}  // namespace

std::vector<std::string> known_variables() {
  std::vector<std::string> names;
  for (const auto& [name, form] : forms()) names.push_back(name);
  return names;
}

Environment read_environment(const Database& report) {
  Environment read;
  try {
    for (const auto& [table, names] : private_data_schema().nsys.names)
      read_table(report, table, of_kind(names.private_names, PrivateKind::environment), read);
    read_first_strings(report, read);
  } catch (const Error&) {
    // Other readers report that the file is damaged. Variables read so far count.
  }
  return read;
}

Environment environment_beside_events(const nlohmann::json& head) {
  Environment read;
  each_private_value(head, [&](PrivateKind kind, const nlohmann::json& value) {
    if (kind != PrivateKind::environment) return;
    read.variables += value.is_structured() ? static_cast<std::int64_t>(value.size()) : 1;
    if (!value.is_structured()) return;
    for (const auto& [name, item] : value.items()) {
      if (!item.is_string()) continue;
      const std::string text = item.get<std::string>();
      if (value.is_array()) {
        take(text, read.known);
      } else {
        take(name, text, read.known);
      }
    }
  });
  return read;
}

}  // namespace gh
