// The vocabulary of what a fix does to a trace: a rule says it in these words, the replay makes it
// so.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/trace.hpp"

namespace gh {

/// A stretch of time of a host thread, or of any that launches (no_index). `whole`: a device idles
/// meanwhile. It stands for the pause between two calls if it is most of the idle time in that; of
/// other pauses, and of a call in which it lies, for no more than itself.
struct HostSpan {
  std::uint16_t thread = 0;
  Span span;
  bool whole = false;
};

/// What something takes, of what it took: the best estimate, and the least and the most that it may
/// be.
struct Factor {
  double by = 1, least = 1, most = 1;
};

/// Which of its factors a change is replayed with.
enum class Guess : std::uint8_t { best, least, most };
inline constexpr std::size_t guesses = 3;
constexpr std::size_t index_of(Guess guess) { return static_cast<std::size_t>(guess); }

/// One thing that a fix changes about the trace.
struct Change {
  enum class Kind : std::uint8_t {
    remove,   ///< operations are gone, and the calls that launched them
    scale,    ///< operations take `factor` of their time
    shorten,  ///< operations lose `cut_ns` each
    fuse,     ///< every uninterrupted run of these operations on a stream becomes one, which takes
              ///< `factor` of the longest of them
    graph,    ///< operations follow each other without a launch of their own, `gap_ns` apart
    overlap,  ///< operations queue on a stream of their own, and what came after them does not wait
              ///< for them
    unblock,  ///< calls do not wait for the GPU
    drop,     ///< calls are gone, and the host's work before each
    pause,    ///< the host's own work in `host` takes `factor` of its time
  };
  Kind kind{};
  std::vector<Row> rows;       ///< operations; of unblock and drop: calls
  std::vector<HostSpan> host;  ///< of pause
  std::vector<Ns> cut_ns;      ///< of shorten, parallel to rows
  Ns gap_ns = 0;               ///< of graph
  Factor factor;
};
using Changes = std::vector<Change>;

}  // namespace gh
