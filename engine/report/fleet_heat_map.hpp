// The map of ranks by cause on a fleet's page.
#pragma once
#include <string>

#include "job/fleet.hpp"

namespace gh {

/// Ranks from left to right, causes from top to bottom, the darker, the more of the job's step,
/// with the late ranks marked; "" where there is nothing to draw.
std::string heat_map(const Fleet& fleet);

}  // namespace gh
