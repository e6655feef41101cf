// What of a report is replayed: a run of steps, or two, that stand for all, of a size that can be
// replayed many times over; where there are no steps, the whole window, or a part of it that is
// like it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Rows that follow each other.
struct RowBlock {
  Row first = 0, count = 0;
  Row end() const { return first + count; }
  bool holds(Row r) const { return r - first < count; }
};

/// A run of steps.
struct ReplayedSteps {
  std::string reason;  ///< why nothing can be replayed, and the rest is not filled in; "" otherwise
  /// No steps repeat: all of the window stands for one, from when the host began it.
  bool whole = false;
  double weight = 1;  ///< of several runs, its share in what stands for all
  /// The work before the first step is replayed as well, so that this step counts like the others.
  bool led = false;
  double scale = 1;       ///< whole: of the window, how many times the part that is replayed
  Span window;            ///< of the steps, from when the host began the first
  RowBlock ops, calls;    ///< those that start within the window
  std::size_t count = 0;  ///< of steps, on the first device
  /// By analyzed device: the number of its first replayed step, and how many those are.
  std::vector<std::pair<std::size_t, std::size_t>> device_steps;
  std::vector<std::vector<Row>> device_ops;  ///< by analyzed device: operations of those steps
  std::vector<std::int16_t> step_of_op;      ///< by operation of the block: replayed step of its
                                             ///< device (led: from 1 on), or -1
  bool collectives = false;                  ///< whether any of the operations is one
  Ns recorded_ns = 0;                        ///< the mean step, as recorded
  double unrepresentative = 0;  ///< by how much that differs from the mean of all, of the latter

  std::int16_t step_of(Row op) const { return step_of_op[op - ops.first]; }
  /// Whether an operation's time is a part of what is measured: of what comes first, a step or the
  /// work before it, only the end counts, since what it began with is not known.
  bool counts(Row op) const { return step_of(op) >= (whole ? 0 : 1); }
  /// How many steps long the measured time is on a device.
  Ns periods(std::size_t device) const {
    return whole ? 1 : static_cast<Ns>(device_steps[device].second) - (led ? 0 : 1);
  }
};

/// A run of steps that begins and ends at the same places on every device, whose mean is as near as
/// can be to that of all. Where none is near, two, a faster and a slower one, weighed so that
/// together their mean is that of all. Without steps the window. At least one; if nothing can be
/// replayed, it says why.
std::vector<ReplayedSteps> choose_runs(const Analysis& analysis);

}  // namespace gh
