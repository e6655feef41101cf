// The table of all facts.
#pragma once
#include <vector>

#include "analysis/facts.hpp"

namespace gh {

/// All facts except those of the account, which has two for each of its causes.
std::vector<Fact> fact_table();

}  // namespace gh
