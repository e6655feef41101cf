// Modules and ranges within each other as rows, with equal ones folded into one.
#pragma once
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/tables/sections.hpp"
#include "analysis/tables/tables.hpp"

namespace gh {

/// What each layer takes by itself, without the layers within.
struct OwnMeasures {
  std::vector<Measures> of_layer;  ///< by LayerId
  /// Of each: what its operators take in each of its sections, 0 for what is in none.
  std::vector<std::map<std::pair<SectionId, std::uint32_t>, Measures>> of_parts;
  std::vector<Section> sections;
};

/// Each row behind the one that it lies in; siblings as `options` sort them.
std::vector<TableRow> module_rows(const Analysis& analysis, const OwnMeasures& own,
                                  const TableOptions& options);

}  // namespace gh
