// What repeats in a sequence of launches, at every length: layers, steps, epochs. Counts that
// depend on the data do no harm, since nothing is compared place by place.
//
// In a loop, what happens once in each pass takes turns: A B C A B C. So launches are looked for
// that occur as often as each other and alternate throughout; they cut the sequence into pieces,
// and the pieces have to hold nearly the same.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/launch_sequence.hpp"

namespace gh {

/// One level: places in the sequence, where each repetition begins and where the last ends.
struct Period {
  std::vector<std::size_t> cuts;
  std::size_t typical = 0;  ///< the repetition that the others are like
  std::size_t kinds = 0;    ///< of entries that come once in each
  std::size_t seen = 0;     ///< how often they come, those cut off at an end too
  double busy_ns = 0;       ///< device time of all of them
  double typical_ns = 0;    ///< of the typical one
  /// Of them, so many have nearly as many launches as the typical one.
  double regular_fraction = 0;
  std::size_t count() const { return cuts.size() - 1; }
  std::size_t begin_of(std::size_t k) const { return cuts[k]; }
  std::size_t end_of(std::size_t k) const { return cuts[k + 1]; }
  /// Launches of the typical one.
  std::size_t length() const { return cuts[typical + 1] - cuts[typical]; }
};

/// Those that repeat three times or more and hold half of what was launched, or half of the
/// device's time, outermost first. Linear in the launches.
std::vector<Period> find_periods(const LaunchSequence& sequence);

}  // namespace gh
