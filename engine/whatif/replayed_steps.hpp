// Which part of a report is replayed: one or two runs of steps that stand for all, small enough to
// be replayed many times; without steps, the whole window or a typical part of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// Consecutive rows.
struct RowBlock {
  Row first = 0, count = 0;
  Row end() const { return first + count; }
  bool holds(Row r) const { return r - first < count; }
};

/// A run of steps.
struct ReplayedSteps {
  std::string reason;  ///< why nothing can be replayed (the rest is then empty); "" otherwise
  /// No steps repeat: the whole window counts as one, from when the host began it.
  bool whole = false;
  double weight = 1;  ///< of several runs, its share in the mean
  /// The work before the first step is replayed too, so that this step counts like the others.
  bool led = false;
  double scale = 1;  ///< whole: length of the window relative to the replayed part
  Span window;       ///< of the steps, from when the host began the first
  /// By analyzed device: the time that is measured, which is that of the steps in the account, but
  /// for the first step where the replay is not `led`; of a window its replayed part.
  std::vector<Span> measured;
  RowBlock ops, calls;    ///< those that start within the window
  std::size_t count = 0;  ///< number of steps on the first device
  /// By analyzed device: the index of its first replayed step, and how many are replayed.
  std::vector<std::pair<std::size_t, std::size_t>> device_steps;
  std::vector<std::vector<Row>> device_ops;  ///< by analyzed device: operations of those steps
  std::vector<std::int16_t> step_of_op;      ///< by operation of the block: replayed step of its
                                             ///< device in which it was launched, 0 if before
                                             ///< (led: from 1 on), or -1
  bool collectives = false;                  ///< whether any of the operations is one
  Ns recorded_ns = 0;                        ///< the mean step, as measured in the recording
  double unrepresentative = 0;  ///< how far that is from the mean of all, relative to the latter

  std::int16_t step_of(Row op) const { return step_of_op[op - ops.first]; }
  /// Whether an operation's time is part of the measured time. Of what comes first, a step or the
  /// work before it, only the end counts, since its beginning is unknown.
  bool counts(Row op) const { return step_of(op) >= (whole ? 0 : 1); }
  /// The mean step over all devices, if this much time was measured on each of them.
  Ns mean_ns(const std::vector<Span>& of_devices) const;
  /// How many steps long the measured time is on a device.
  Ns periods(std::size_t device) const {
    return whole ? 1 : static_cast<Ns>(device_steps[device].second) - (led ? 0 : 1);
  }
};

/// Chooses a run of steps that begins and ends at the same places on every device and whose mean is
/// as close as possible to that of all steps. If none is close, chooses a faster and a slower run,
/// weighted so that their mean is that of all. Without steps, chooses the window. Returns at least
/// one; if nothing can be replayed, it says why.
std::vector<ReplayedSteps> choose_runs(const Analysis& analysis);

}  // namespace gh
