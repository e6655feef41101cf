// What comes in every n-th step only: a loader whose queue is empty, a checkpoint, a log, a
// validation, garbage collection. It is part of the program and no exception, and what it costs is
// spread over all steps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

struct Analysis;

struct PeriodicEvent {
  struct Place {
    std::size_t device = 0;  ///< in Analysis::devices
    std::size_t step = 0;    ///< in its steps
  };
  std::int64_t every = 0;     ///< steps from one to the next
  std::vector<Place> places;  ///< the steps that hold it, in order
  std::int64_t count = 0;     ///< how often it came; one may spread over several steps
  double extra_ns = 0;        ///< how much longer it makes its steps, as recorded; the mean
  double cost_ns = 0;         ///< the same, spread over all steps of all devices
  std::size_t cause = 0;      ///< what most of it is, as Account::causes lists them
  double cause_ns = 0;        ///< how much of extra_ns
  /// If it is idle time: what the host did for most of it, and the range around that; else the
  /// program's range that launched most of the work. 0 if nothing shows it.
  NameId doing = 0, within = 0;
};

/// Those of the analyzed steps, the costliest first.
std::vector<PeriodicEvent> find_periodic_events(const Analysis& analysis);

/// Long steps that come at one distance.
struct RegularSteps {
  std::size_t every = 0;
  std::vector<std::size_t> steps;  ///< in order, from the first to the last, none is missing
};

/// Finds long steps at one distance, by the lengths of all steps. `known` steps hold another event,
/// which may hide one. Nothing if chance alone would do it in more than one recording of fifty.
std::optional<RegularSteps> find_regular(const std::vector<Ns>& lengths,
                                         const std::vector<bool>& known);

}  // namespace gh
