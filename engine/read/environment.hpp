// How much of the profiled program's environment a report gives away. Names and values are only
// counted.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>

namespace gh {

class Database;

/// How many environment variables an export of Nsight Systems holds. What is damaged is not
/// counted.
std::int64_t environment_variables(const Database& report);

/// How many a PyTorch trace holds beside its events.
std::int64_t environment_variables_beside_events(const nlohmann::json& head);

}  // namespace gh
