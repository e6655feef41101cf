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
  /// How much of what lies between the first cut and the last recurs: of the device's time, and of
  /// the kinds of kernels and graphs, since copies also come when a program logs or saves. A kind
  /// of launch recurs if most repetitions hold it. If they do not hold about the same number, as
  /// where some validate or a solver iterates for longer, what is beyond the usual number does not
  /// recur. What lies around a model's layers, such as its embedding and its optimizer, does not
  /// recur with them.
  double recurring_busy_fraction = 0, recurring_kinds_fraction = 0;
  /// Whether the repetitions leave hardly anything out between the first and the last.
  bool is_whole() const;
  /// Whether they leave out so little that their mean says what the loop does.
  bool is_nearly_whole() const;
  /// Whether they leave hardly anything out, or only what comes once in a while: few kinds of
  /// launches.
  bool leaves_little_out() const;
  /// One entry that recurs at any distance proves little; many that take turns prove a loop,
  /// however long its passes are.
  bool is_weak() const {
    return (kinds < 2 && regular_fraction < 0.75) || (kinds < 8 && regular_fraction < 0.4);
  }
  std::size_t count() const { return cuts.size() - 1; }
  std::size_t begin_of(std::size_t k) const { return cuts[k]; }
  std::size_t end_of(std::size_t k) const { return cuts[k + 1]; }
  /// Length of the typical repetition.
  std::size_t length() const { return cuts[typical + 1] - cuts[typical]; }
};

/// The least part of a recording, from 0 to 1, that its loop takes. With fewer repetitions, a
/// larger part may lie in one more of them, cut off at both ends.
inline double least_of_loop(std::size_t repetitions) {
  const auto count = static_cast<double>(repetitions);
  return 0.5 * count / (count + 1);
}

/// Periods that are not weak, repeat at least three times and contain half of the launches, or half
/// of the device's time; outermost first. Linear in the number of launches.
std::vector<Period> find_periods(const LaunchSequence& sequence);

/// The period of two repetitions that are the same launch for launch, apart from a few; nothing if
/// there is none. Two prove a loop only where everything recurs.
std::optional<Period> find_twice(const LaunchSequence& sequence);

/// Whether repetitions take longer and longer, by far, in nanoseconds: they measure one size after
/// another, and their mean says nothing. Steps that wait longer for once do not grow all along.
bool are_sizes(const std::vector<Ns>& lengths);

/// The same period, cut where the program begins a size, and with the last one, which nothing
/// follows; nothing if the repetitions are no sizes.
std::optional<Period> cut_by_size(const LaunchSequence& sequence, const Period& period);

/// The period that begins at these places and ends at the last one: how much of it recurs.
Period period_at(const LaunchSequence& sequence, std::vector<std::size_t> cuts);

}  // namespace gh
