#include "read/private_data.hpp"

#include "base/schema_table.hpp"

namespace gh {
namespace {

using Node = toml::node_view<const toml::node>;

GlobsByKind by_kind(const Node& node) {
  constexpr std::array<const char*, private_kinds> keys{"environment", "command", "host",
                                                        "user",        "folder",  "output"};
  GlobsByKind globs;
  for (std::size_t i = 0; i < keys.size(); ++i) globs[i] = strings(node[keys[i]]);
  return globs;
}

PrivateDataSchema parsed() {
  const toml::table table = schema_table("schemas/scrub.toml");
  const Node nsys = table["nsys"], torch = table["torch"], environment = table["environment"];
  PrivateDataSchema schema;
  schema.nsys.keep = strings(nsys["keep"]);
  schema.nsys.output = strings(nsys["output"]);
  schema.nsys.strings = strings(nsys["strings"]);
  schema.nsys.columns = strings(nsys["columns"]);
  schema.nsys.columns_out = strings(nsys["columns_out"]);
  schema.nsys.numbers = strings(nsys["numbers"]);
  for (const auto& [name, node] : *nsys["names"].as_table()) {
    const Node names(node);
    schema.nsys.names[std::string(name.str())] = {strings(names["keep"]), by_kind(names)};
  }
  schema.torch = {strings(torch["keep"]),        strings(torch["event"]),
                  strings(torch["argument"]),    strings(torch["gpu"]),
                  strings(torch["numbers"]),     strings(torch["known_categories"]),
                  strings(torch["known_names"]), by_kind(torch)};
  schema.environment = {strings(environment["secret"]), strings(environment["no_secret"]),
                        by_kind(environment)};
  return schema;
}

}  // namespace

const PrivateDataSchema& private_data_schema() {
  static const PrivateDataSchema schema = parsed();
  return schema;
}

bool names_a_secret(std::string_view name) {
  // Spelled like a variable: "api-key" becomes API_KEY.
  std::string upper = in_upper_case(name);
  for (char& c : upper)
    if (c == '-' || c == ' ' || c == '.') c = '_';
  const PrivateDataSchema::Environment& known = private_data_schema().environment;
  return any_matches(known.secret, upper) && !any_matches(known.no_secret, upper) &&
         !any_matches(of_kind(known.names, PrivateKind::folder), upper);
}

}  // namespace gh
