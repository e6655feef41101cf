// The vocabulary for what a fix does to a trace: rules describe fixes in it, and the replay applies
// them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// A span of time of a host thread, or of any thread that launches (no_index). `whole`: a device is
/// idle meanwhile. Such a span stands for the whole pause between two calls if it covers most of
/// the idle time in it; in other pauses, or inside a call, it stands only for itself.
struct HostSpan {
  std::uint16_t thread = 0;
  Span span;
  bool whole = false;
};

/// How long something takes relative to before: the best estimate, and the least and the most that
/// it may be.
struct Factor {
  double by = 1, least = 1, most = 1;
};

/// Which of its factors to replay a change with.
enum class Guess : std::uint8_t { best, least, most };
inline constexpr std::size_t guesses = 3;
constexpr std::size_t index_of(Guess guess) { return static_cast<std::size_t>(guess); }

/// One effect of a fix on the trace.
struct Change {
  enum class Kind : std::uint8_t {
    remove,   ///< removes operations and the calls that launched them
    scale,    ///< operations take `factor` of their time
    shorten,  ///< operations become `cut_ns` shorter each
    fuse,     ///< every uninterrupted run of these operations on a stream becomes one, which takes
              ///< `factor` times the longest of them
    graph,    ///< operations follow each other without separate launches, `gap_ns` apart
    overlap,  ///< operations queue on a separate stream, and later work does not wait for them
    unblock,  ///< calls do not wait for the GPU
    drop,     ///< removes calls and the host's work before each
    pause,    ///< the host's own work in `host` takes `factor` of its time
  };
  Kind kind{};
  std::vector<Row> rows;       ///< operations; for unblock and drop: calls
  std::vector<HostSpan> host;  ///< for pause
  std::vector<Ns> cut_ns;      ///< for shorten, parallel to rows
  Ns gap_ns = 0;               ///< for graph
  Factor factor;
};
using Changes = std::vector<Change>;

}  // namespace gh
