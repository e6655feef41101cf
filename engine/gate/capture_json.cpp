#include "gate/capture_json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gh {

Json number_json(double v) {
  constexpr double exact = 9e15;  // just below 2^53, up to which a double holds every integer
  return v == std::floor(v) && std::abs(v) < exact ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

Json facts_json(const std::map<std::string, FactNumber>& facts) {
  Json json = Json::object();
  for (const auto& [name, f] : facts) {
    json[name] = {{"value", f.value ? number_json(*f.value) : Json(nullptr)},
                  {"unit", name_of(f.unit)}};
    if (!f.value) json[name]["unknown"] = f.unknown;
  }
  return json;
}

Unit unit_named(const std::string& name) {
  for (int u = 0; u <= static_cast<int>(Unit::text); ++u) {
    if (name == name_of(static_cast<Unit>(u))) return static_cast<Unit>(u);
  }
  throw Error(fmt::format("there is no unit '{}'", printable(name)));
}

}  // namespace gh
