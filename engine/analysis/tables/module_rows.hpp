// Modules and ranges within each other as rows, with equal ones folded into one.
#pragma once
#include <algorithm>
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

  /// By LayerId: each layer with all that lies in it.
  std::vector<Measures> with_all_within(const ProgramLayers& layers) const;
};

/// Of what is equal, what takes most comes first, then by name; of sums, what was met first.
/// `counted`: by what each.count and each.total_ns say, rather than by sums. `row_of`: of an entry.
template <class Entries, class RowOf>
void sort_rows(Entries& entries, const TableOptions& options, bool counted, RowOf row_of) {
  const auto time = [counted](const TableRow& r) {
    return static_cast<double>(counted ? r.each.total_ns : r.total_ns());
  };
  const auto key = [&](const TableRow& r) {
    const auto count = static_cast<double>(counted ? r.each.count : r.sum.launches);
    switch (options.sort) {
      case Sort::count:
      case Sort::launches: return count;
      case Sort::mean: return time(r) / std::max(count, 1.0);
      case Sort::path: return static_cast<double>(r.path_ns);
      case Sort::idle: return static_cast<double>(r.sum.idle_ns);
      case Sort::flops: return r.sum.flops;
      case Sort::time: return time(r);
      default: return 0.0;
    }
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const auto& one, const auto& other) {
    const TableRow &x = row_of(one), &y = row_of(other);
    if (options.sort == Sort::name) return x.name < y.name;
    if (key(x) != key(y)) return key(x) > key(y);
    if (!counted || options.sort == Sort::program) return false;
    return time(x) != time(y) ? time(x) > time(y) : x.name < y.name;
  });
}

/// Each row behind the one that it lies in; siblings as `options` sort them.
std::vector<TableRow> module_rows(const Analysis& analysis, const OwnMeasures& own,
                                  const TableOptions& options);

}  // namespace gh
