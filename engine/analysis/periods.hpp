// Finds repetitions in a sequence of launches, at every length: layers, steps, epochs. Counts that
// depend on the data do no harm, since the sequence is not compared place by place.
//
// In a loop, what happens once in each pass alternates: A B C A B C. So the search looks for
// launches that occur equally often and alternate throughout. They cut the sequence into pieces,
// and the pieces have to contain nearly the same.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/launch_sequence.hpp"

namespace gh {

/// One level: where in the sequence each repetition begins and where the last one ends.
struct Period {
  std::vector<std::size_t> cuts;
  std::size_t typical = 0;  ///< the repetition that the others resemble
  std::size_t kinds = 0;    ///< how many entries come once in each
  std::size_t seen = 0;     ///< how often they come, including in repetitions cut off at an end
  double busy_ns = 0;       ///< device time of all of them
  double typical_ns = 0;    ///< of the typical one
  /// The share of repetitions with nearly as many launches as the typical one.
  double regular_fraction = 0;
  std::size_t count() const { return cuts.size() - 1; }
  std::size_t begin_of(std::size_t k) const { return cuts[k]; }
  std::size_t end_of(std::size_t k) const { return cuts[k + 1]; }
  /// Length of the typical repetition.
  std::size_t length() const { return cuts[typical + 1] - cuts[typical]; }
};

/// Periods that repeat at least three times and contain half of the launches, or half of the
/// device's time; outermost first. Linear in the number of launches.
std::vector<Period> find_periods(const LaunchSequence& sequence);

}  // namespace gh
