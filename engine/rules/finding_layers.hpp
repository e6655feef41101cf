// Which layers of the program findings are about.
#pragma once
#include <vector>

#include "analysis/analysis.hpp"
#include "rules/finding.hpp"

namespace gh {

/// The findings with `layers`, from the operations and calls that their changes name, and with
/// `layer` of their evidence. A finding about work of the whole program has no layers, nor has one
/// without changes: its evidence is only a sample.
std::vector<Finding> with_layers(std::vector<Finding> findings, const Analysis& analysis);

}  // namespace gh
