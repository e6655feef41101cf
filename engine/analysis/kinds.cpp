#include "analysis/kinds.hpp"

#include <algorithm>
#include <utility>

#include "base/schema_table.hpp"

namespace gh {
namespace {

constexpr const char* schema_path = "schemas/programs.toml";
constexpr std::array place_keys{"kernels", "ranges", "threads"};

KindRow kind_of(const toml::table& row) {
  const auto text = [&](const char* key) { return row[key].value_or(std::string()); };
  KindRow kind;
  kind.of = text("of");
  kind.key = text("key");
  kind.name = text("name");
  kind.within = text("within");
  for (std::size_t p = 0; p < name_places; ++p) kind.match[p] = strings(row[place_keys[p]]);
  kind.except = Patterns(strings(row["except"]));
  kind.formats = strings(row["formats"]);
  kind.implies = strings(row["implies"]);
  kind.together = strings(row["together"]);
  kind.models = row["models"].value_or(false);
  kind.names_backward = row["names_backward"].value_or(false);
  kind.device_loops = row["device_loops"].value_or(false);
  return kind;
}

std::vector<KindRow> read_kinds(const toml::table& schema) {
  std::vector<KindRow> all;
  for (const toml::node& row : *schema["kind"].as_array()) all.push_back(kind_of(*row.as_table()));
  return all;
}

PatternLists lists_of(const std::vector<KindRow>& all, std::size_t place) {
  std::vector<std::vector<std::string>> lists;
  for (const KindRow& k : all) lists.push_back(k.match[place]);
  return PatternLists(std::move(lists));
}

Kinds make_kinds() {
  const toml::table schema = schema_table(schema_path);
  std::vector<KindRow> all = read_kinds(schema);
  std::vector<std::vector<std::string>> together;
  std::vector<std::size_t> together_of;
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const std::string& e : all[k].together) {
      together.push_back({e});
      together_of.push_back(k);
    }
  std::array match{lists_of(all, 0), lists_of(all, 1), lists_of(all, 2)};
  return {std::move(all),
          std::move(match),
          PatternLists(std::move(together)),
          std::move(together_of),
          Patterns(strings(schema["interpreters"]["match"])),
          CapturingPatterns(strings(schema["optimizers"]["match"]), schema_path)};
}

}  // namespace

const KindRow* Kinds::find(std::string_view key) const {
  const auto it =
      std::find_if(all.begin(), all.end(), [&](const KindRow& k) { return k.key == key; });
  return it == all.end() ? nullptr : &*it;
}

const Kinds& kinds() {
  static const Kinds known = make_kinds();
  return known;
}

}  // namespace gh
