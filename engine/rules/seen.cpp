#include "rules/seen.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/quantities.hpp"
#include "base/schema_table.hpp"

namespace gh {
namespace {

std::map<std::string, Seen> read_seen() {
  const toml::table table = schema_table("schemas/seen.toml");
  std::map<std::string, Seen> all;
  const toml::table* rules = table["rule"].as_table();
  if (!rules) return all;
  for (const auto& [id, node] : *rules) {
    const toml::table& entry = *node.as_table();
    Seen seen;
    for (const toml::node& name : *entry["recordings"].as_array())
      seen.recordings.push_back(name.value_or(std::string()));
    seen.pairs = entry["pairs"].value_or(std::int64_t{0});
    seen.median_error = entry["median_error"].value_or(0.0);
    seen.worst_error = entry["worst_error"].value_or(0.0);
    all.emplace(id.str(), std::move(seen));
  }
  return all;
}

// A team's rule may have the id of a built-in rule.
bool is_own(const Rule& rule) {
  const auto& files = embedded_files();
  return std::any_of(files.begin(), files.end(), [&](const EmbeddedFile& f) {
    return f.path == rule.path && f.text == rule.source;
  });
}

}  // namespace

Seen seen_of(const Rule& rule) {
  static const std::map<std::string, Seen> all = read_seen();
  const auto it = all.find(rule.id);
  return it == all.end() || !is_own(rule) ? Seen() : it->second;
}

std::string seen_text(const Rule& rule) {
  if (!is_own(rule)) return "is a team's own rule, without test recordings";
  const Seen seen = seen_of(rule);
  if (seen.recordings.empty()) return "has never fired on a test recording";
  std::string text =
      fmt::format("fires on {} recording{} ({})", seen.recordings.size(),
                  seen.recordings.size() == 1 ? "" : "s", fmt::join(seen.recordings, ", "));
  if (seen.pairs == 0) return text + "; the savings of its fix were never measured";
  if (seen.pairs == 1)
    return text + fmt::format("; its fix was measured once, and the predicted step was {} off",
                              percent(seen.worst_error));
  return text +
         fmt::format("; over {} measured fixes the predicted step was {} off (median), {} at worst",
                     seen.pairs, percent(seen.median_error), percent(seen.worst_error));
}

}  // namespace gh
