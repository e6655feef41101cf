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

// Counts as it goes: what comes before the damage counts.
void count_variables(const Database& report, const std::string& table, const Globs& names,
                     std::int64_t& count) {
  if (names.empty() || !report.has_table(table)) return;
  const std::vector<std::string> columns = report.columns(table);
  if (std::find(columns.begin(), columns.end(), "name") == columns.end()) return;
  Query rows(report, fmt::format("SELECT name FROM {}", quoted_name(table)));
  while (rows.step()) count += any_matches(names, rows.text(0));
}

// The forms of values, by name of the variable.
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

// Takes a variable, if it is known. The first of a name counts.
void take(std::string_view name, std::string_view value, Environment& to) {
  const auto form = forms().find(name);
  if (form == forms().end()) return;
  const bool as_expected =
      RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *form->second);
  to.try_emplace(std::string(name), as_expected ? std::string(value) : "set");
}

// The same of NAME=value or NAME="value".
void take(std::string_view variable, Environment& to) {
  const std::size_t equals = variable.find('=');
  if (equals == variable.npos) return;
  std::string_view value = variable.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
  }
  take(variable.substr(0, equals), value, to);
}

// The environment of a process as the system gives it away: variables with NULs between. No other
// text of a report holds NULs.
void take_all(std::string_view block, Environment& to) {
  if (block.find('\0') == block.npos) return;
  for (std::size_t from = 0; from < block.size();) {
    const std::size_t end = std::min(block.find('\0', from), block.size());
    take(block.substr(from, end - from), to);
    from = end + 1;
  }
}

}  // namespace

std::int64_t environment_variables(const Database& report) {
  std::int64_t count = 0;
  try {
    for (const auto& [table, names] : private_data_schema().nsys.names) {
      count_variables(report, table, of_kind(names.private_names, PrivateKind::environment), count);
    }
    // Before 2022 it stood among the first strings.
    if (count == 0 && report.has_table("StringIds")) {
      Query texts(report, "SELECT count(*) FROM StringIds WHERE id < 1000 AND value GLOB 'PATH=*'");
      if (texts.step()) count = texts.integer(0);
    }
  } catch (const Error&) {
    // Whoever reads the rest of the report says that it is damaged.
  }
  return count;
}

std::int64_t environment_variables_beside_events(const nlohmann::json& head) {
  std::int64_t count = 0;
  each_private_value(head, [&](PrivateKind kind, const nlohmann::json& value) {
    if (kind != PrivateKind::environment) return;
    count += value.is_structured() ? static_cast<std::int64_t>(value.size()) : 1;
  });
  return count;
}

std::vector<std::string> known_variables() {
  std::vector<std::string> names;
  for (const auto& [name, form] : forms()) names.push_back(name);
  return names;
}

Environment known_environment(const Database& report) {
  // It stands among the first strings: processes begin before their events do.
  constexpr const char* first_strings = "SELECT value FROM StringIds WHERE id < 1000";
  Environment known;
  try {
    for (const auto& [table, names] : private_data_schema().nsys.names) {
      const Globs& of_environment = of_kind(names.private_names, PrivateKind::environment);
      if (of_environment.empty() || !report.has_table(table)) continue;
      const std::vector<std::string> columns = report.columns(table);
      const auto has = [&](const char* column) {
        return std::find(columns.begin(), columns.end(), column) != columns.end();
      };
      if (!has("name") || !has("value")) continue;
      Query rows(report, fmt::format("SELECT name, value FROM {}", quoted_name(table)));
      while (rows.step()) {
        if (any_matches(of_environment, rows.text(0))) take(rows.text(1), known);
      }
    }
    if (report.has_table("StringIds")) {
      Query texts(report, first_strings);
      while (texts.step()) take_all(texts.text(0), known);
    }
  } catch (const Error&) {
    // Whoever reads the rest of the report says that it is damaged.
  }
  return known;
}

Environment known_environment_beside_events(const nlohmann::json& head) {
  Environment known;
  each_private_value(head, [&](PrivateKind kind, const nlohmann::json& value) {
    if (kind != PrivateKind::environment || !value.is_structured()) return;
    for (const auto& [name, item] : value.items()) {
      if (!item.is_string()) continue;
      const std::string text = item.get<std::string>();
      if (value.is_array()) {
        take(text, known);
      } else {
        take(name, text, known);
      }
    }
  });
  return known;
}

}  // namespace gh
