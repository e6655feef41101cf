// The GPU: what each operation waited for, which is its launch, the operation before it on its
// stream, or one on another stream.
#include <algorithm>
#include <utility>

#include "whatif/graph.hpp"

namespace gh {
namespace {

// A launch this long before the operation's turn does not delay it.
constexpr Ns launched_ahead_ns = 50'000;
// An operation starts within this time after the one on another stream that it waits for.
constexpr Ns event_wait_ns = 20'000;
// How long an operation waits beyond the usual weights before other streams are considered.
constexpr Ns unexplained_ns = 5'000;
// The usual pause between operations queued in time, used if there are too few to measure.
// Recordings on an H200 show 1.0 to 1.5 us.
constexpr Ns common_gap_ns = 1'500;
constexpr std::size_t least_fed = 32;
// A launch call this many times as long as the usual delay between launch and start does something
// else first.
constexpr Ns slow_launch = 4;

// Operations of each device by end time.
using Ends = std::vector<std::pair<Ns, Row>>;
std::vector<Ends> ends_by_device(const Trace& t, const RowBlock& ops) {
  std::vector<Ends> ends(t.devices.size());
  for (Row op = ops.first; op < ops.end(); ++op)
    if (!is_unified(t.ops.copy[op])) ends[t.device_of(op)].emplace_back(t.ops.end[op], op);
  for (Ends& list : ends) std::sort(list.begin(), list.end());
  return ends;
}

// The operation on another stream that ended last before `op` started, and shortly before, or
// no_row. Work of other crews does not count.
Row ended_just_before(const ReplayGraph& g, const Ends& ends, Row op) {
  const Trace& t = g.analysis.trace;
  const Ns start = t.ops.start[op];
  for (auto it = std::lower_bound(ends.begin(), ends.end(), std::pair(start, no_row));
       it != ends.begin();) {
    --it;
    if (start - it->first > event_wait_ns) break;
    if (t.ops.stream[it->second] != t.ops.stream[op] && it->second < op &&
        !g.crews.are_apart(it->second, op))
      return it->second;
  }
  return no_row;
}

// By operation of the block: consider what its thread had last launched on a few other streams of
// the device, and take the one of these that ended last before the operation began, or no_row. A
// stream usually waits for the stream that got work last. The waiting operation may begin well
// after, since kernels that came in between occupy the SMs.
std::vector<Row> done_before(const ReplayGraph& g) {
  constexpr std::size_t streams = 4;
  const Trace& t = g.analysis.trace;
  std::vector<Row> done(g.steps.ops.count, no_row);
  std::vector<std::pair<Row, Row>>
      launched;  // call and operation, including calls before the block
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
    if (t.ops.call[op] != no_row) launched.emplace_back(t.ops.call[op], op);
  std::sort(launched.begin(), launched.end());
  // By thread: the last operation on each of its most recent streams, the latest first.
  std::vector<std::vector<Row>> last(t.threads.size());
  for (const auto& [c, op] : launched) {
    std::vector<Row>& before = last[t.calls.thread[c]];
    std::erase_if(before, [&, op = op](Row b) { return t.ops.stream[b] == t.ops.stream[op]; });
    Row& found = done[op - g.steps.ops.first];
    for (const Row b : before)
      if (t.device_of(b) == t.device_of(op) && t.ops.end[b] <= t.ops.start[op] &&
          (found == no_row || t.ops.end[b] > t.ops.end[found]))
        found = b;
    before.insert(before.begin(), op);
    if (before.size() > streams) before.pop_back();
  }
  return done;
}

// Finds what precedes each operation on its stream, and the usual delays: from launch to start the
// lower quartile on idle GPUs, since some of those operations waited for something else; between
// operations the median of streams that were fed in time while no other stream had work.
void measure_streams(ReplayGraph& g) {
  const Trace& t = g.analysis.trace;
  const RowBlock& ops = g.steps.ops;
  g.stream_before.assign(ops.count, no_row);
  std::vector<Row> last(t.streams.size(), no_row);
  std::vector<Ns> from_idle, from_fed, busy_until(t.devices.size(), g.steps.window.start);
  for (Row op = ops.first; op < ops.end(); ++op) {
    // Migrations are done by the driver, even while kernels wait for them.
    if (is_unified(t.ops.copy[op])) continue;
    const Row before = std::exchange(last[t.ops.stream[op]], op);
    Ns& busy = busy_until[t.device_of(op)];
    const Ns idle_since = std::exchange(busy, std::max(busy, t.ops.end[op]));
    g.stream_before[op - ops.first] = before;
    const Row call = g.launch_of(op);
    if (call == no_row || before == no_row) continue;
    const Ns launched = t.calls.start[call], idle_from = t.ops.end[before];
    if (launched > idle_since)
      from_idle.push_back(t.ops.start[op] - launched);
    else if (launched + launched_ahead_ns < idle_from && idle_since == idle_from)
      from_fed.push_back(t.ops.start[op] - idle_from);
  }
  if (!from_idle.empty()) {
    const auto quartile = from_idle.begin() + static_cast<std::ptrdiff_t>(from_idle.size() / 4);
    std::nth_element(from_idle.begin(), quartile, from_idle.end());
    g.launch_ns = *quartile;
  }
  g.gap_ns =
      from_fed.size() < least_fed ? common_gap_ns : std::max<Ns>(median(std::move(from_fed)), 0);
}

// When a launch hands its operation to the GPU, and when the operation usually starts after that. A
// call that takes long because it first loads the kernel's code hands it over at the end.
struct Submission {
  Node node = origin;
  Ns at = 0, usual_ns = 0;
  bool at_end = false;  // of the call
};

Submission submission(const ReplayGraph& g, Row call, Row op) {
  const Calls& calls = g.analysis.trace.calls;
  const Ns start = calls.start[call], end = calls.end[call];
  const CallClass kind = g.call_class(call);
  const bool last = (kind == CallClass::launch || kind == CallClass::graph_launch) &&
                    end - start > slow_launch * g.launch_ns &&
                    g.analysis.trace.ops.start[op] >= end - g.launch_ns &&
                    g.recorded.has(g.end_node(call), edge::begin);
  return last ? Submission{g.end_node(call), end, 0, true}
              : Submission{g.begin_node(call), start, g.launch_ns, false};
}

}  // namespace

void ReplayGraph::find_device_edges() {
  measure_streams(*this);
  const Trace& t = analysis.trace;
  const std::vector<Ends> ends = ends_by_device(t, steps.ops);
  const std::vector<Row> done = done_before(*this);
  std::vector<bool> used_before(t.streams.size());
  for (Row op = 0; op < steps.ops.first; ++op) used_before[t.ops.stream[op]] = true;
  for (Row op = steps.ops.first; op < steps.ops.end(); ++op) {
    const Node node = op_node(op);
    const Ns start = t.ops.start[op];
    recorded.length[node] = t.ops.end[op] - start;
    const Row call = launch_of(op), before = stream_before[op - steps.ops.first];
    if (is_unified(t.ops.copy[op]) || (call == no_row && before == no_row)) {
      recorded.weight[node][edge::launch] = start;
      continue;
    }

    const Submission launch = call == no_row ? Submission{} : submission(*this, call, op);
    const Ns latency = call == no_row ? absent : start - launch.at,
             gap = before == no_row ? absent : start - t.ops.end[before];
    // The delay that launch and stream do not explain. If both leave much, an event of another
    // stream may have delayed the operation; otherwise it waited for the one that leaves less.
    const Ns late = latency - launch.usual_ns, idle = gap - gap_ns;
    Row other = no_row;
    if (before != no_row && (call == no_row || late > unexplained_ns) && idle > unexplained_ns) {
      other = ended_just_before(*this, ends[t.device_of(op)], op);
      const Row given = done[op - steps.ops.first];
      // What had ended before a call handed over at its end did not delay the operation, nor did
      // what an earlier step launched and had ended before the launch by more than it is late.
      const Ns ended = std::max(t.ops.end[before], launch.at_end ? launch.at : 0);
      const auto long_over = [&] {
        return call != no_row && t.ops.end[given] < launch.at - latency &&
               steps.step_of(given) < steps.step_of(op);
      };
      if (other == no_row && given != no_row && t.ops.end[given] > ended && !long_over())
        other = given;
    }
    if (other != no_row)
      recorded.set(node, edge::other_stream, op_node(other), start - t.ops.end[other]);
    const bool by_launch = other == no_row && call != no_row && (before == no_row || late <= idle);
    const bool by_stream = other == no_row && !by_launch;

    if (call != no_row)
      recorded.set(node, edge::launch, launch.node,
                   by_launch ? latency : std::min(launch.usual_ns, latency));
    if (before != no_row)
      recorded.set(node, edge::stream, op_node(before), by_stream ? gap : std::min(gap_ns, gap));
    else if (used_before[t.ops.stream[op]])
      // Work queued before the first replayed step delays the step's first operations.
      recorded.weight[node][edge::stream] = start;
  }
}

}  // namespace gh
