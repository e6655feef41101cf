#include "base/json.hpp"

#include <fmt/format.h>

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

}  // namespace gh
