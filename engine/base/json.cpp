#include "base/json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/error.hpp"

namespace gh {

Json parsed_json(std::string_view text, const JsonLimits& limits) {
  std::size_t values = 0;
  return Json::parse(text, [&](int level, Json::parse_event_t, const Json&) {
    if (level > limits.levels)
      throw Error(fmt::format("it nests more than {} levels deep", limits.levels));
    if (++values > limits.values)
      throw Error(fmt::format("it contains more than {} values", limits.values));
    return true;
  });
}

std::string generator() { return std::string("gh-advise ") + GH_ADVISE_VERSION; }

Json number_json(double v) {
  constexpr double exact = 9e15;  // just below 2^53, up to which a double holds every integer
  return v == std::floor(v) && std::abs(v) < exact ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

}  // namespace gh
