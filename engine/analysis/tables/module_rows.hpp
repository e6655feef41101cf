// Modules and ranges within each other as rows, with equal ones folded into one.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "analysis/structure/program_layers.hpp"
#include "analysis/tables/tables.hpp"

namespace gh {

/// What each layer takes by itself, without the layers within.
struct OwnMeasures {
  std::vector<Measures> of_layer;                               ///< by LayerId
  std::vector<std::map<std::uint32_t, Measures>> of_operators;  ///< of each: its operators'
};

/// Each row behind the one that it lies in; siblings as `options` sort them.
std::vector<TableRow> module_rows(const Analysis& analysis, const OwnMeasures& own,
                                  const TableOptions& options);

}  // namespace gh
