#include "rules/binding/largest.hpp"

#include <algorithm>
#include <utility>

namespace gh::binding {

std::vector<Row> largest(const Context& c, const Rows& s, std::size_t most, Field field) {
  std::vector<std::pair<double, Row>> best;  // a heap, the smallest on top
  s.rows.each([&](Row r) {
    const std::pair own(-number_field(c, s, r, field).value_or(0), r);
    if (best.size() == most && (most == 0 || !(own < best.front()))) return;
    if (best.size() == most) {
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
    best.push_back(own);
    std::push_heap(best.begin(), best.end());
  });
  std::sort_heap(best.begin(), best.end());
  std::vector<Row> rows;
  for (const auto& [value, row] : best) rows.push_back(row);
  return rows;
}

}  // namespace gh::binding
