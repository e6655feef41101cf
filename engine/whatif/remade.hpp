// The replayed steps as the profiler would record them with changes made: a trace of its own, in
// which what the changes take away is gone and the rest is at the time to which it moves, and the
// way back to the times of the recording.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/steps.hpp"
#include "whatif/changes.hpp"

namespace gh {

/// Where moments lie on another axis: in proportion between those of which it is known, as far from
/// the last as they were beyond it.
class Moments {
 public:
  void add(Ns from, Ns to) { points_.emplace_back(from, to); }
  /// Puts the points in order; later moments never lie before earlier ones.
  void sort();
  Ns at(Ns from) const;
  /// A stretch from the latest moment that may be its start to the earliest that may be its end.
  Span at(Span from) const;
  Moments reversed() const;
  bool empty() const { return points_.empty(); }

 private:
  using Points = std::vector<std::pair<Ns, Ns>>;
  Ns between(Points::const_iterator after, Ns from) const;
  Points points_;
};

struct Remade {
  Trace trace;                                    ///< sealed
  std::vector<DeviceSteps> devices;               ///< those that are analyzed, with their steps
  std::map<int, Moments> device_moments;          ///< by ordinal: back to the recording
  std::map<std::string, Moments> thread_moments;  ///< by label: likewise
  Span window;                                    ///< of the recording

  /// The time of the recording that a stretch of the trace stands for.
  Span recorded(Span span, int device, const std::string& thread) const;
};

struct ReplayGraph;
struct Edges;
/// `changed`: the recorded edges with `changes` made.
Remade remake(const ReplayGraph& graph, const Edges& changed, const Changes& changes);

}  // namespace gh
