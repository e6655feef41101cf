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

/// How many environment variables an export of Nsight Systems holds. What is damaged is not
/// counted.
std::int64_t environment_variables(const Database& report);

/// How many a PyTorch trace holds beside its events.
std::int64_t environment_variables_beside_events(const nlohmann::json& head);

/// The names in schemas/environment.toml.
std::vector<std::string> known_variables();

/// By name: the value where it has the form that the schema expects of it, otherwise "set".
using Environment = std::map<std::string, std::string>;
Environment known_environment(const Database& report);
Environment known_environment_beside_events(const nlohmann::json& head);

}  // namespace gh
