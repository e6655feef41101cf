#include "whatif/overhead.hpp"

#include <algorithm>

#include "analysis/recording_cost.hpp"
#include "whatif/apply.hpp"

namespace gh {
namespace {

// What Nsight Systems adds to a pause between two kernels, measured on an H200 and an H100 as the
// recorded steps minus the same steps unprofiled: 0.7 us. The host becomes slower with every launch
// (LaunchWorth), part of it outside of the call.
constexpr Ns gap_ns = 700, least_gap_ns = 300, longest_gap_ns = 20'000;
constexpr double least_fraction = 0.2;  // of a call, or of a pause between two
// Ranges cost what they usually do (RecordingCost) if launches are slowed by the usual amount,
// nothing if these are slowed least, and half as much again if most.
double range_factor(double worth) {
  const auto& [least, usual, most] = launch_worth();
  if (worth <= usual) return std::max(0.0, worth - least) / (usual - least);
  return 1 + 0.5 * (worth - usual) / (most - usual);
}

// The step of a recording if its launches were slowed by this much: the more, the shorter it is.
Ns step_ns(const ReplayGraph& g, double worth) {
  return g.step_ns(g.times(without_overhead(g, worth)));
}

// By how much launches were slowed if the step took `target` without; 0 or the most if that is
// impossible.
double worth_for(const ReplayGraph& g, Ns target) {
  constexpr int halvings = 12;  // to a thousandth of a launch
  double least = 0, most = launch_worth().most;
  if (step_ns(g, least) <= target) return least;
  if (step_ns(g, most) >= target) return most;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (least + most) / 2;
    (step_ns(g, middle) > target ? least : most) = middle;
  }
  return (least + most) / 2;
}

Ns recording_before(const ReplayGraph& g, Row call) {
  return g.recording_before.empty() ? 0 : g.recording_before[call - g.steps.calls.first];
}

}  // namespace

LaunchesWorth guessed_overhead() {
  LaunchesWorth worth{};
  worth[index_of(Guess::least)] = launch_worth().most;
  worth[index_of(Guess::best)] = launch_worth().usual;
  worth[index_of(Guess::most)] = launch_worth().least;
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

void speed_up_copies(const ReplayGraph& g, double launches_worth, Edges& edges) {
  const LaunchWorth& of = launch_worth();
  if (launches_worth <= of.usual) return;
  const double least = least_of_copy_down(),
               by = 1 - (1 - least) * (launches_worth - of.usual) / (of.most - of.usual);
  const Ops& ops = g.analysis.trace.ops;
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
    if (ops.copy[op] == CopyKind::d2h && ops.target[op] == MemoryKind::pageable) {
      Ns& length = edges.length[g.op_node(op)];
      length = std::max(scaled(length, by), std::min(length, g.link_ns(op)));
    }
}

Edges without_overhead(const ReplayGraph& g, double launches_worth) {
  const double of_ranges = range_factor(launches_worth);
  const Ns of_launches = scaled(g.launch_call_ns, launches_worth);
  const auto overhead = [&](CallClass kind) {
    return launches(kind) ? of_launches : scaled(call_cost_ns(kind), of_ranges);
  };
  // If launches are slowed less than ever measured, pauses between kernels also grow less.
  const Ns between = scaled(gap_ns, std::min(1.0, launches_worth / launch_worth().least));
  Edges edges = g.recorded;
  speed_up_copies(g, launches_worth, edges);
  for (const auto& calls : g.thread_calls) {
    Ns outside = 0;  // what the call before cannot have cost inside itself
    for (const Row c : calls) {
      const Node b = g.begin_node(c);
      if (Ns& pause = edges.weight[b][edge::previous];
          edges.from[b][edge::previous] != origin && !edges.has(b, edge::handover))
        pause -= std::min(std::min(outside, pause / 2) + scaled(recording_before(g, c), of_ranges),
                          scaled(pause, 1 - least_fraction));
      Ns& took = edges.weight[g.end_node(c)][edge::begin];
      const CallClass kind = g.call_class(c);
      const Ns left = std::max(scaled(took, least_fraction), took - overhead(kind));
      outside = launches(kind) ? std::max<Ns>(0, of_launches - (took - left)) : 0;
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
