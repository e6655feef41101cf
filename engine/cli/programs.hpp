// What `record` and `try`, which run programs, have in common.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "base/spans.hpp"

namespace gh {

/// The value of an option that takes a time: "30s". Throws Error that names the option.
Ns duration_option(const char* option, const std::string& value);

/// The value of --delay: units, or a time.
struct Delay {
  std::optional<int> units;
  std::optional<Ns> ns;
};
Delay parsed_delay(const std::string& value);

/// Where a recording goes: `given`, or `name` with a number if that exists. Throws Error if `given`
/// exists and shall not be replaced.
std::filesystem::path new_output(const std::string& given, const std::string& name, bool replace);

}  // namespace gh
