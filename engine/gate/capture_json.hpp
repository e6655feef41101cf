// What the two files that hold captures, baselines and digests (job/digest.hpp), write and read
// alike.
#pragma once
#include "base/json_fields.hpp"
#include "gate/capture.hpp"

namespace gh {

inline constexpr auto fact_fields = [](auto& json, auto& fact) {
  json("value", fact.value, amounts);
  json("unit", fact.unit, Unit::text);
  if (!fact.value) json("unknown", fact.unknown);
};

}  // namespace gh
