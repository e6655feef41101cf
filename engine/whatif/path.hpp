// What the replayed time waits for: walked back from its end along what each point waited for last,
// so that every nanosecond lies on exactly one thing. The account tells what a device does; the
// path tells what has to become shorter before the step does. It goes on at a rank for which the
// others waited.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/spans.hpp"

namespace gh {

struct ReplayGraph;

/// One thing on the path, with all of the path's time that it takes.
struct PathItem {
  enum class Kind : std::uint8_t {
    compute,         ///< kernels of a class, graphs traced whole, copies and memsets on a device
    copy,            ///< copies over a link
    communication,   ///< collectives; `name`: "other_ranks" where the wait for ranks that the
                     ///< report does not hold is a part
    launch_latency,  ///< from the end of a launch to the start of what it launched
    gap,             ///< the GPU's own pause between operations
    dependency,      ///< a longer one, of an operation that had been launched; `name`: its class
    call,            ///< CUDA calls of a name
    host,            ///< what a thread did between two calls, by its innermost range
    unrecorded,      ///< what nothing in the recording tells
    rest             ///< of a list that is cut: all that is not in it
  };
  Kind kind = Kind::unrecorded;
  std::string name;  ///< "gemm_half", "h2d", "cudaStreamSynchronize", "forward"; "" where none
  Ns ns = 0;         ///< of the whole path
  std::vector<Ns> by_device;  ///< the same by analyzed device: whose work, or whose host's, it is
  std::vector<Ns> by_step;    ///< the same by step of the path
  std::int64_t stretches = 0;
  Span longest;  ///< of the stretches
  friend bool operator==(const PathItem&, const PathItem&) = default;
};
const char* name_of(PathItem::Kind);
/// Nothing where there is no kind of that name.
std::optional<PathItem::Kind> path_kind_named(std::string_view name);

/// One stretch of the path that an operation, a call or a host thread takes.
struct PathPart {
  enum class Of : std::uint8_t { operation, call, host };
  Of of = Of::operation;
  std::uint32_t row = 0;  ///< of Trace::ops or Trace::calls; of a host's: the thread
  Span span;
  friend bool operator==(const PathPart&, const PathPart&) = default;
};

struct Path {
  Ns total_ns = 0;              ///< what the items add up to
  Ns periods = 1;               ///< how many steps long it is
  double scale = 1;             ///< of the window, how many times the part that was walked
  /// What a nanosecond of what the GPU does, and of the rest, is of one step without the profiler.
  double gpu_of_step = 1, host_of_step = 1;
  std::vector<PathItem> items;  ///< what takes most first
  /// The same one by one, from the end on, but for what nothing of the report takes: latencies,
  /// pauses, time unrecorded.
  std::vector<PathPart> parts;

  /// What an item is of one step without the profiler.
  double step_ns(const PathItem& item) const;
  /// All items together.
  double step_ns() const;
  /// Makes a step as long as this: a profiler makes the host slower, and no kernel or copy.
  void bring_to(Ns unprofiled_step_ns);
};

/// "blocks.3.attn" -> "blocks.#.attn": what counts is one thing. A long name is cut.
std::string without_numbers(const std::string& name);

/// The path of the recorded steps, or of the window; empty where nothing ran.
Path find_path(const ReplayGraph& graph);

}  // namespace gh
