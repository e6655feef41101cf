// Loops of the program beside the steps that are judged: validation after training, requests before
// a benchmark.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "analysis/host_steps.hpp"
#include "analysis/steps.hpp"

namespace gh {

struct OtherLoop {
  /// Singular, and none of the names of what the judged steps repeat: "batch"; "later batch" after
  /// steps that are batches.
  std::string name;
  bool after = false;      ///< the judged steps; otherwise before them
  std::size_t device = 0;  ///< its place among those that were searched: the one that works most
  HostSteps host;          ///< its repetitions, as the host began them
};

/// What repeats in the work before the devices' steps, and in the work after them, if that is a
/// tenth or more of a device's work and longer than a step. Repetitions of the judged unit, or of a
/// part of it, are no other loop.
std::vector<OtherLoop> other_loops(const Trace& trace, const Classes& classes,
                                   const NameClasses& names, const ProgramKind& program,
                                   const std::vector<DeviceSteps>& devices);

}  // namespace gh
