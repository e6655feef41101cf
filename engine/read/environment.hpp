// The profiled program's environment: how many variables a report reveals, and the values of a few
// that change how CUDA and its libraries work (schemas/environment.toml). Names and values of all
// others never leave these functions.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gh {

class Database;

/// The names in schemas/environment.toml.
std::vector<std::string> known_variables();

/// By name: the value if it has the form that the schema expects, otherwise "set".
using KnownVariables = std::map<std::string, std::string>;

struct Environment {
  std::int64_t variables = 0;  ///< how many the report contains, without damaged ones
  KnownVariables known;
};
/// From an Nsight Systems export.
Environment read_environment(const Database& report);
/// From what a PyTorch trace contains besides its events.
Environment environment_beside_events(const nlohmann::json& head);

}  // namespace gh
