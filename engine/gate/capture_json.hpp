// What the two files that hold captures, baselines and digests (job/digest.hpp), write and read
// alike.
#pragma once
#include <map>
#include <string>

#include "base/json.hpp"
#include "gate/capture.hpp"

namespace gh {

/// Numbers as a recording can have them. What is none would make every comparison with it true or
/// false for no reason, so readers refuse it.
inline constexpr double most_recorded_ns = 2e18;  ///< 63 years
inline constexpr double most_recorded_count = 1e12;
inline constexpr double most_recorded_value = 1e30;  ///< of a fact

/// A whole number where it is one: "3" rather than "3.0".
Json number_json(double value);

/// Facts by name: value (or null and why it is unknown) and unit.
Json facts_json(const std::map<std::string, FactNumber>& facts);

/// Throws Error where there is no such unit.
Unit unit_named(const std::string& name);

}  // namespace gh
