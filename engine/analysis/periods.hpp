// Finds repetitions in a sequence of launches, at every length: layers, steps, epochs. Counts that
// depend on the data do no harm, since the sequence is not compared place by place.
//
// In a loop, what happens once in each pass alternates: A B C A B C. So the search looks for
// launches that occur equally often and alternate throughout. They cut the sequence into pieces,
// and the pieces have to contain nearly the same.
#pragma once
#include <cstddef>
#include <optional>
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
  /// How much of what lies between the first cut and the last recurs, each kind of launch in about
  /// the same number in most repetitions: of the device's time, and of the kinds of kernels and
  /// graphs, since copies also come when a program logs or saves. What lies around a model's
  /// layers, such as its embedding and its optimizer, does not recur with them.
  double recurring_busy_fraction = 0, recurring_kinds_fraction = 0;
  /// Whether the repetitions leave hardly anything out between the first and the last.
  bool is_whole() const;
  /// Whether they leave out so little that their mean says what the loop does.
  bool is_nearly_whole() const;
  /// Whether what they leave out is few kinds of launches.
  bool has_rare_events() const;
  std::size_t count() const { return cuts.size() - 1; }
  std::size_t begin_of(std::size_t k) const { return cuts[k]; }
  std::size_t end_of(std::size_t k) const { return cuts[k + 1]; }
  /// Length of the typical repetition.
  std::size_t length() const { return cuts[typical + 1] - cuts[typical]; }
};

/// Periods that repeat at least three times and contain half of the launches, or half of the
/// device's time; outermost first. Linear in the number of launches.
std::vector<Period> find_periods(const LaunchSequence& sequence);

/// The period of two repetitions that are the same launch for launch, apart from a few; nothing if
/// there is none. Two prove a loop only where everything recurs.
std::optional<Period> find_twice(const LaunchSequence& sequence);

/// The period that begins at these places and ends at the last one: how much of it recurs.
Period period_at(const LaunchSequence& sequence, std::vector<std::size_t> cuts);

}  // namespace gh
