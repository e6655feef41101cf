// Reading the tables of schemas/.
#pragma once
#include <toml++/toml.h>

#include <string>
#include <vector>

#include "base/embedded.hpp"

namespace gh {

/// Parses one of schemas/*.toml.
inline toml::table schema_table(const char* path) {
  return toml::parse(embedded_file(path), std::string_view(path));
}

/// Calls take(entry) for each [[name]] of a table.
template <class Take>
void each_entry(const toml::table& table, const char* name, Take take) {
  if (const toml::array* entries = table[name].as_array())
    for (const toml::node& entry : *entries) take(*entry.as_table());
}

/// The strings of a list, or a single string; empty for anything else.
inline std::vector<std::string> strings(const toml::node_view<const toml::node>& node) {
  std::vector<std::string> out;
  if (const toml::array* list = node.as_array())
    for (const toml::node& item : *list) out.push_back(item.value_or(std::string()));
  else if (const auto one = node.value<std::string>())
    out.push_back(*one);
  return out;
}

}  // namespace gh
