#include "whatif/overhead.hpp"

#include <algorithm>

#include "whatif/apply.hpp"

namespace gh {
namespace {

// What Nsight Systems adds, measured on an H200 and an H100 as the recorded steps minus the same
// steps unprofiled. A pause between two kernels grows by 0.7 us. The host becomes slower with every
// launch, by a multiple of the length of a recorded launch call, part of it outside of the call:
// host-bound recordings show 1.1 to 5 times (H200) and 1 to 4 (H100 with cores shared with other
// processes); twice is the best guess.
constexpr Ns gap_ns = 700, least_gap_ns = 300, longest_gap_ns = 20'000;
constexpr double least_fraction = 0.2;  // of a call, or of a pause between two
constexpr double usual_worth = 2, most_worth = 6, least_worth = 0.5;
// Ranges cost what they usually do (RecordingCost) if launches are slowed by the usual amount,
// nothing if these are slowed least, and half as much again if most.
double range_factor(double worth) {
  if (worth <= usual_worth) return std::max(0.0, worth - least_worth) / (usual_worth - least_worth);
  return 1 + 0.5 * (worth - usual_worth) / (most_worth - usual_worth);
}

// The step of a recording if its launches were slowed by this much: the more, the shorter it is.
Ns step_ns(const ReplayGraph& g, double worth) {
  return g.step_ns(g.times(without_overhead(g, worth)));
}

// By how much launches were slowed if the step took `target` without; 0 or most_worth if that is
// impossible.
double worth_for(const ReplayGraph& g, Ns target) {
  constexpr int halvings = 12;  // to a thousandth of a launch
  double least = 0, most = most_worth;
  if (step_ns(g, least) <= target) return least;
  if (step_ns(g, most) >= target) return most;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (least + most) / 2;
    (step_ns(g, middle) > target ? least : most) = middle;
  }
  return (least + most) / 2;
}

Ns median_launch(const ReplayGraph& g) {
  const Calls& calls = g.analysis.trace.calls;
  std::vector<Ns> lengths;
  for (const auto& of_thread : g.thread_calls)
    for (const Row c : of_thread)
      if (g.call_class(c) == CallClass::launch) lengths.push_back(calls.end[c] - calls.start[c]);
  return median(std::move(lengths));
}

Ns recording_before(const ReplayGraph& g, Row call) {
  return g.recording_before.empty() ? 0 : g.recording_before[call - g.steps.calls.first];
}

}  // namespace

LaunchesWorth guessed_overhead() {
  LaunchesWorth worth{};
  worth[index_of(Guess::least)] = most_worth;
  worth[index_of(Guess::best)] = usual_worth;
  worth[index_of(Guess::most)] = least_worth;
  return worth;
}

LaunchesWorth known_overhead(const ReplayGraph& g, Ns unprofiled_ns) {
  const Ns noise = scaled(unprofiled_ns, measured_noise);
  LaunchesWorth worth = guessed_overhead();
  for (const Guess guess : {Guess::best, Guess::least, Guess::most}) {
    const Ns step = step_ns(g, worth[index_of(guess)]);
    if (std::abs(step - unprofiled_ns) <= noise) continue;
    const Ns nearest = guess == Guess::best   ? unprofiled_ns
                       : step > unprofiled_ns ? unprofiled_ns + noise
                                              : unprofiled_ns - noise;
    worth[index_of(guess)] = worth_for(g, nearest);
  }
  return worth;
}

Edges without_overhead(const ReplayGraph& g, double launches_worth) {
  const double of_ranges = range_factor(launches_worth);
  const Ns overhead = scaled(median_launch(g), launches_worth);
  // If launches are slowed less than ever measured, pauses between kernels also grow less.
  const Ns between = scaled(gap_ns, std::min(1.0, launches_worth / least_worth));
  Edges edges = g.recorded;
  for (const auto& calls : g.thread_calls) {
    Ns outside = 0;  // what the call before cannot have cost inside itself
    for (const Row c : calls) {
      const Node b = g.begin_node(c);
      if (Ns& pause = edges.weight[b][edge::previous];
          edges.from[b][edge::previous] != origin && !edges.has(b, edge::handover))
        pause -= std::min(std::min(outside, pause / 2) + scaled(recording_before(g, c), of_ranges),
                          scaled(pause, 1 - least_fraction));
      Ns& took = edges.weight[g.end_node(c)][edge::begin];
      const Ns left = std::max(scaled(took, least_fraction), took - overhead);
      outside = launches(g.call_class(c)) ? std::max<Ns>(0, overhead - (took - left)) : 0;
      took = left;
    }
  }
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    const Node n = g.start_node(op);
    if (Ns& gap = edges.weight[n][edge::stream];
        edges.from[n][edge::stream] != origin && gap < longest_gap_ns)
      gap = std::max(std::min(least_gap_ns, gap), gap - between);
  }
  return edges;
}

}  // namespace gh
