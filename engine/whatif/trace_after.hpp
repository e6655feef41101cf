// The replayed steps as the profiler would record them after changes: a separate trace without what
// the changes remove, with everything else at its new time, and the mapping back to the times of
// the recording.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/steps.hpp"
#include "whatif/changes.hpp"

namespace gh {

/// Maps moments to another time axis: in proportion between known points; beyond the last point, at
/// the same distance from it as before.
class Moments {
 public:
  void add(Ns from, Ns to) { points_.emplace_back(from, to); }
  /// Sorts the points; later moments never map to earlier ones.
  void sort();
  Ns at(Ns from) const;
  /// A span from the latest moment that its start may map to, to the earliest that its end may map
  /// to.
  Span at(Span from) const;
  Moments reversed() const;
  bool empty() const { return points_.empty(); }

 private:
  using Points = std::vector<std::pair<Ns, Ns>>;
  Ns between(Points::const_iterator after, Ns from) const;
  Points points_;
};

struct TraceAfter {
  Trace trace;                                    ///< sealed
  std::vector<DeviceSteps> devices;               ///< the analyzed ones, with their steps
  std::map<int, Moments> device_moments;          ///< by ordinal: back to the recording
  std::map<std::string, Moments> thread_moments;  ///< by label: back to the recording
  Span window;                                    ///< of the recording

  /// The time of the recording that a span of the trace stands for.
  Span recorded(Span span, int device, const std::string& thread) const;
};

struct ReplayGraph;
struct Edges;
/// `changed`: the recorded edges with `changes` made.
TraceAfter trace_after(const ReplayGraph& graph, const Edges& changed, const Changes& changes);

}  // namespace gh
