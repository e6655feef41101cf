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

/// Where a recording goes, without ending: `given`, which may have an ending or be a folder with a
/// slash at its end; otherwise `name`.
std::filesystem::path output_name(std::string given, const std::string& name);

/// The same, if it is new or shall be replaced; `name` with a number if only that exists. Throws
/// Error if `given` exists.
std::filesystem::path new_output(const std::string& given, const std::string& name, bool replace);

/// Throws Error if there is a recording of this name.
void refuse_taken(const std::filesystem::path& output);

}  // namespace gh
