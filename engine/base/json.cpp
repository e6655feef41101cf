#include "base/json.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace gh {

Json parsed_json(std::string_view text) {
  constexpr int most_levels = 64;  // ours have less than ten
  return Json::parse(text, [&](int level, Json::parse_event_t, const Json&) {
    if (level > most_levels)
      throw Error(fmt::format("it is nested more than {} levels deep", most_levels));
    return true;
  });
}

}  // namespace gh
