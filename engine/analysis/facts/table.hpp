// The table of all facts.
#pragma once
#include <vector>

#include "analysis/facts.hpp"

namespace gh {

/// All facts but those of the account, which has as many as it has causes.
std::vector<Fact> fact_table();

}  // namespace gh
