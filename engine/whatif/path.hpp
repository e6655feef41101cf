// What the replayed time waits for: a walk back from its end, at each point to what that point
// waited for last, so that every nanosecond belongs to exactly one thing. The account says what a
// device does; the path says what has to become shorter to make the step shorter. It continues on
// another rank if the others waited for it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/tables/measures.hpp"
#include "base/spans.hpp"

namespace gh {

struct ReplayGraph;

/// One thing on the path, with all of the path's time that it takes.
struct PathItem {
  enum class Kind : std::uint8_t {
    compute,  ///< kernels of a class, graphs traced as a whole, copies and memsets on a device
    copy,     ///< copies over a link
    communication,   ///< collectives; `name`: "other_ranks" if this includes waiting for ranks that
                     ///< are not in the report
    launch_latency,  ///< from the end of a launch to the start of what it launched
    gap,             ///< the GPU's own pause between operations
    dependency,      ///< a longer pause, of an operation that had been launched; `name`: its class
    call,            ///< CUDA calls of one name
    host,            ///< what a thread did between two calls, by its innermost range
    unrecorded,      ///< time that nothing in the recording explains
    rest             ///< in a list that was cut: everything that was left out
  };
  Kind kind = Kind::unrecorded;
  std::string name;  ///< "gemm_half", "h2d", "cudaStreamSynchronize", "forward"; "" if none
  Ns ns = 0;         ///< of the whole path
  std::vector<Ns> by_device;  ///< the same by analyzed device that it belongs to
  std::vector<Ns> by_step;    ///< the same by step of the path
  std::int64_t stretches = 0;
  Span longest;  ///< of the stretches
  friend bool operator==(const PathItem&, const PathItem&) = default;
};
const char* name_of(PathItem::Kind);
/// Nothing if there is no kind of that name.
std::optional<PathItem::Kind> path_kind_named(std::string_view name);

struct Path {
  Ns total_ns = 0;   ///< the sum of the items
  Ns periods = 1;    ///< how many steps long it is
  double scale = 1;  ///< for a window: its length relative to the part that was walked
  /// How much a nanosecond of GPU time, and of other time, counts in one step without the profiler.
  double gpu_of_step = 1, host_of_step = 1;
  std::vector<PathItem> items;  ///< the largest first
  /// The single parts, starting from the end, except for what no row of the report takes:
  /// latencies, pauses, unrecorded time.
  std::vector<PathPart> parts;

  /// An item's time in one step without the profiler.
  double step_ns(const PathItem& item) const;
  /// All items together.
  double step_ns() const;
  /// What tables show of it: nothing of a path of nothing.
  PathParts for_tables() const { return {parts.empty() ? nullptr : &parts, total_ns}; }
  /// Scales to a step of this length: a profiler makes the host slower, but no kernel or copy.
  void bring_to(Ns unprofiled_step_ns);
};

/// The path of the recorded steps, or of the window; empty if nothing ran.
Path find_path(const ReplayGraph& graph);

}  // namespace gh
