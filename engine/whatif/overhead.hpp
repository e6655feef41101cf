// What the profiler added to the recorded steps, taken out again.
#pragma once
#include <array>

#include "whatif/changes.hpp"
#include "whatif/graph.hpp"

namespace gh {

/// By how much every launch was slowed, in median recorded launch calls; by Guess. Guess::least
/// leaves the shortest step.
using LaunchesWorth = std::array<double, guesses>;

/// A step that was measured, and the same from a recording, differ by this much although all is
/// understood: as much as a trusted replay may be off.
inline constexpr double measured_noise = 0.02;

/// Where nobody measured a step without the profiler, it is not known well.
LaunchesWorth guessed_overhead();

/// Where the step is known without it: of the guesses, those with which the replay gives that step
/// but for noise; in place of the others, what does. Where no plausible overhead does, all are what
/// comes nearest.
LaunchesWorth known_overhead(const ReplayGraph& graph, Ns unprofiled_ns);

/// The recorded edges without an overhead of so much.
Edges without_overhead(const ReplayGraph& graph, double launches_worth);

}  // namespace gh
