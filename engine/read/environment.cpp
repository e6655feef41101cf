#include "read/environment.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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

}  // namespace gh
