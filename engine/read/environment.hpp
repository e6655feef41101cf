// What is read of the profiled program's environment: how many variables a report gives away, and
// the values of a few that change how CUDA and its libraries work (schemas/environment.toml). Of
// all others neither names nor values leave these functions.
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

/// By name: the value where it has the form that the schema expects of it, otherwise "set".
using KnownVariables = std::map<std::string, std::string>;

struct Environment {
  std::int64_t variables = 0;  ///< how many the report holds; what is damaged is not counted
  KnownVariables known;
};
/// Of an export of Nsight Systems.
Environment read_environment(const Database& report);
/// Of what a PyTorch trace holds beside its events.
Environment environment_beside_events(const nlohmann::json& head);

}  // namespace gh
