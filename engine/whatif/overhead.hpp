// Removes what the profiler added to the recorded steps.
#pragma once
#include <array>

#include "whatif/changes.hpp"
#include "whatif/graph.hpp"

namespace gh {

/// By how much every launch was slowed, in median recorded launch calls; by Guess. Guess::least
/// gives the shortest step.
using LaunchesWorth = std::array<double, guesses>;

/// A measured step and one computed from a recording may differ by this much even if everything is
/// understood: as much as a trusted replay may be off.
inline constexpr double measured_noise = 0.02;

/// If nobody measured a step without the profiler, the overhead is only known roughly.
LaunchesWorth guessed_overhead();

/// The overhead if the step without it is known. Guesses with which the replay gives that step, up
/// to noise, are kept; the others are replaced by the value that gives it. If no plausible overhead
/// does, all are the one that comes closest.
LaunchesWorth known_overhead(const ReplayGraph& graph, Ns unprofiled_ns);

/// Takes off what slowed copies down into pageable memory if launches were slowed by this much:
/// nothing usually. A recorded process does not use freed host memory again, so that each page of a
/// new tensor is mapped during the copy.
void speed_up_copies(const ReplayGraph& graph, double launches_worth, Edges& edges);

/// The recorded edges without this much overhead.
Edges without_overhead(const ReplayGraph& graph, double launches_worth);

}  // namespace gh
