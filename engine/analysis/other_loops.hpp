// Loops of the program other than the steps that are judged: validation after training, requests
// before a benchmark, another model that shares the GPU.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/crews.hpp"
#include "analysis/host_steps.hpp"
#include "analysis/loop_place.hpp"
#include "analysis/steps.hpp"

namespace gh {

struct OtherLoop {
  /// Singular, and none of the names of what the judged steps repeat: "batch"; "later batch" after
  /// steps that are batches, "other batch" beside them.
  std::string name;
  LoopPlace place = LoopPlace::before;
  std::size_t device = 0;  ///< its place among those that were searched: the one that works most
  HostSteps host;          ///< its repetitions, as the host began them
  std::int64_t count = 0;  ///< how many; of a loop beside the steps, during these
  std::uint16_t crew = no_index;  ///< that launches it, if others do something else meanwhile
  double share = 0;               ///< of a loop beside the steps: of the work during these, 0 to 1
};

/// What repeats in the work before the devices' steps, and in the work after them, if that is a
/// tenth or more of a device's work and longer than a step; and what other crews repeat during the
/// steps. Repetitions of the judged unit, or of a part of it, are no other loop, unless another
/// crew launches them meanwhile.
std::vector<OtherLoop> other_loops(const Trace& trace, const Classes& classes,
                                   const NameClasses& names, const ProgramKind& program,
                                   const std::vector<DeviceSteps>& devices);

}  // namespace gh
