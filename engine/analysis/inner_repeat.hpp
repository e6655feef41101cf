// Finds back-to-back repetitions within one repetition: micro-batches in a step, layers in them.
// There launches follow each other exactly, so they are compared place by place.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/launch_sequence.hpp"
#include "analysis/periods.hpp"

namespace gh {

struct InnerRepeat {
  std::size_t begin = 0, length = 0;  ///< of the first
  std::size_t count = 0;
  double share = 0;  ///< of the places from `from` to `to`
};

/// The repetition that covers most places between two, in its shortest form. Nothing if none covers
/// a quarter of them.
std::optional<InnerRepeat> repeat_within(const LaunchSequence& sequence, std::size_t from,
                                         std::size_t to);

/// The places of the typical repetition's entries, and of those that it lacks where most others
/// have them: a profiler may lose some in each.
std::vector<std::size_t> completed(const LaunchSequence& sequence, const Period& period);

/// Whether repetitions fill most of it: a pass of a model holds layers, and a layer does not.
bool holds_layers(const LaunchSequence& sequence, std::size_t from, std::size_t to);

}  // namespace gh
