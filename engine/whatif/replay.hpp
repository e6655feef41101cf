// Replays steps of a trace with something changed, and tells how long a step then takes.
//
// The trace is read as a graph of points in time: begin and end of every CUDA call of the host, end
// of every operation. A point comes as late as the latest of what it waits for: a call after the
// thread's call before it and the host's own work in between; an operation after its launch, after
// the operation before it on its stream, after one on another stream; the end of a blocking call
// after the operation that it waits for; and where a thread hands over to another one, as PyTorch's
// main thread and autograd's do, after what the other did. Each edge weighs what the trace shows
// beyond its own share, so that with no change the replay is the trace.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// A stretch of time of a host thread, or of any that launches (no_index). `whole`: it stands for
/// the pause between two calls in which it lies.
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

/// Which of its factors a change is replayed with.
enum class Guess : std::uint8_t { best, least, most };

/// The steps of a report, ready to be replayed. Nothing changes after construction: several threads
/// may replay at one time.
class Replay {
 public:
  explicit Replay(const Analysis& analysis);

  /// Why nothing can be replayed; "" where it can.
  const std::string& reason() const { return reason_; }

  const Analysis& analysis() const { return a_; }
  Ns recorded_ns() const {
    return recorded_ns_;
  }  ///< the mean of the steps that are replayed, as recorded
  std::size_t steps() const { return steps_; }  ///< how many those are, on each device
  /// By analysed device: the number of its first replayed step, and how many those are.
  const std::vector<std::pair<std::size_t, std::size_t>>& device_steps() const {
    return device_steps_;
  }
  /// By how much the replayed steps' mean differs from that of all, of the latter.
  double unrepresentative() const { return unrepresentative_; }
  /// By how much the replay with the same weights for all operations and waits differs from the
  /// trace, of the latter: what the model leaves unexplained. The replay with each one's own weight
  /// equals the trace by construction.
  double uniform_error() const { return uniform_error_; }
  /// Time of waiting calls for which no operation was found that they wait for, of the replayed
  /// time.
  double unresolved() const { return unresolved_; }
  /// Whether collectives run in the replayed steps. Their durations hold the wait for other ranks,
  /// which a fix changes in ways that no replay of one recording tells, so that it bounds the step
  /// neither way.
  bool collectives() const { return collectives_; }
  /// Whether a replay may be called a forecast: the errors above are at most 2 % each. Otherwise it
  /// is a ceiling of what a fix is worth.
  bool trusted() const;
  std::string distrust() const;  ///< why not, in words

  /// Leaves out of the changes what lies outside of the replayed steps: a long report has millions
  /// of rows of the rest.
  void trim(Changes& changes) const;

  /// The mean step with these changes made, without what the profiler added to it.
  Ns step_ns(const Changes& changes, Guess guess = Guess::best) const;
  /// The same with what the profiler added: with no change this is recorded_ns.
  Ns profiled_step_ns(const Changes& changes) const;

  /// What a step cannot fall below, however well the host and the GPU work side by side.
  struct Bounds {
    Ns products_ns = 0;  ///< matrix products and fused attention
    Ns compute_ns = 0;   ///< all of the busiest stream's kernels
    Ns link_ns = 0;      ///< copies over a link, the busier direction
    Ns host_ns = 0;      ///< the host's own time, if the GPU took none
  };
  Bounds bounds(const Changes& changes) const;

 private:
  static constexpr std::uint32_t none =
      0;  // node 0 is the origin of time; an edge that is absent leads there and weighs `absent`
  static constexpr Ns absent = std::numeric_limits<Ns>::min() / 4;

  // Slots of a node's edges. Operations: launch, stream, other. Begins of calls: previous,
  // hand-over. Ends: begin, wait.
  enum : std::size_t {
    launch = 0,
    stream = 1,
    other = 2,
    previous = 0,
    handover = 1,
    begin = 0,
    wait = 1
  };
  struct Graph {
    std::vector<std::array<std::uint32_t, 3>> from;
    std::vector<std::array<Ns, 3>> weight;
    std::vector<Ns> length;  // of operations: added after the latest edge
  };

  std::uint32_t op_node(Row op) const {
    return 1 + 2 * static_cast<std::uint32_t>(calls_.count) + (op - ops_.first);
  }
  std::uint32_t begin_node(Row call) const { return 1 + 2 * (call - calls_.first); }
  std::uint32_t end_node(Row call) const { return begin_node(call) + 1; }

  void choose_steps();
  void add_calls(Graph& g);
  void add_ops(Graph& g);
  void add_waits(Graph& g);
  void sort(const Graph& g);
  Graph uniform() const;
  Graph without_overhead(double launches_worth) const;
  void apply(const Change& change, Guess guess, Graph& g) const;
  std::vector<Ns> times(const Graph& g) const;
  Ns period(const std::vector<Ns>& times) const;
  Graph changed(const Changes& changes, Guess guess) const;

  struct Block {
    Row first = 0, count = 0;
    bool holds(Row r) const { return r - first < count; }
  };
  const Analysis& a_;
  std::string reason_;
  Span window_;  // of the replayed steps, from when the host began the first
  Block ops_, calls_;
  std::vector<Row>
      stream_before_;  // by operation of the block: the one before it on its stream, or no_row
  std::vector<std::vector<Row>>
      thread_calls_;  // by thread: calls of the block that are not nested in another
  std::vector<std::pair<std::size_t, std::size_t>> device_steps_;
  std::vector<std::int16_t>
      step_of_;  // by operation of the block: replayed step of its device, or -1
  std::vector<std::vector<Row>>
      device_ops_;  // by analysed device: operations of the replayed steps
  bool collectives_ = false;
  std::vector<std::uint32_t> order_;  // nodes, each after what it waits for
  Ns launch_ns_ = 0, gap_ns_ = 0,
     wake_ns_ = 0;  // the usual weights: idle stream, fed stream, end of a wait
  Ns recorded_ns_ = 0;
  std::size_t steps_ = 0;
  double unrepresentative_ = 0, uniform_error_ = 0, unresolved_ = 0;
  Graph recorded_;
  std::array<Graph, 3> unprofiled_;  // by Guess
  std::array<Ns, 3> now_{};          // likewise: the step with no change
};

}  // namespace gh
