#include "whatif/overhead.hpp"

#include <algorithm>

#include "whatif/apply.hpp"

namespace gh {
namespace {

// What Nsight Systems adds, measured on an H200 and an H100 as recorded steps less the same ones
// unprofiled: a pause between two kernels grows by 0.7 us. The host grows slower with every launch,
// by a multiple of what a recorded launch call lasts, part of it outside of the call: recordings
// that the host bounds show 1.1 to 5 times (H200) and 1 to 4 (H100 whose cores other processes
// shared); twice is the best guess.
constexpr Ns gap_ns = 700, least_gap_ns = 300, longest_gap_ns = 20'000;
constexpr double least_call_fraction = 0.2;

// The most overhead leaves the least.
double launches_worth(Guess guess) {
  switch (guess) {
    case Guess::least: return 6.0;
    case Guess::most: return 0.5;
    default: return 2.0;
  }
}

Ns median_launch(const ReplayGraph& g) {
  const Calls& calls = g.analysis.trace.calls;
  std::vector<Ns> lengths;
  for (const auto& of_thread : g.thread_calls)
    for (const Row c : of_thread)
      if (g.call_class(c) == CallClass::launch) lengths.push_back(calls.end[c] - calls.start[c]);
  return median(std::move(lengths));
}

}  // namespace

Edges without_overhead(const ReplayGraph& g, Guess guess) {
  const Ns overhead = scaled(median_launch(g), launches_worth(guess));
  Edges edges = g.recorded;
  for (const auto& calls : g.thread_calls) {
    Ns outside = 0;  // of the call before: what it cannot have cost within
    for (const Row c : calls) {
      const Node b = g.begin_node(c);
      if (Ns& pause = edges.weight[b][edge::previous];
          edges.from[b][edge::previous] != origin && !edges.has(b, edge::handover))
        pause -= std::min(outside, pause / 2);
      Ns& took = edges.weight[g.end_node(c)][edge::begin];
      const Ns left = std::max(scaled(took, least_call_fraction), took - overhead);
      outside = launches(g.call_class(c)) ? std::max<Ns>(0, overhead - (took - left)) : 0;
      took = left;
    }
  }
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    const Node n = g.start_node(op);
    if (Ns& gap = edges.weight[n][edge::stream];
        edges.from[n][edge::stream] != origin && gap < longest_gap_ns)
      gap = std::max(std::min(least_gap_ns, gap), gap - gap_ns);
  }
  return edges;
}

}  // namespace gh
