// The GPU: what each operation waited for, its launch, the operation before it on its stream, or
// one on another stream.
#include <algorithm>
#include <utility>

#include "whatif/graph.hpp"

namespace gh {
namespace {

// A launch that comes so long before its turn does not delay it.
constexpr Ns launched_ahead_ns = 50'000;
// An operation starts within so long after the one on another stream that it waits for.
constexpr Ns event_wait_ns = 20'000;
// What an operation waits beyond the usual weights before another stream is looked at.
constexpr Ns unexplained_ns = 5'000;
// The usual pause between operations that were queued in time, where fewer than so many were.
// Recordings on an H200 show 1.0 to 1.5 us.
constexpr Ns common_gap_ns = 1'500;
constexpr std::size_t least_fed = 32;
// A launch that takes so many times as long as operations usually start after theirs does something
// else first.
constexpr Ns slow_launch = 4;

// Operations of each device by when they ended.
using Ends = std::vector<std::pair<Ns, Row>>;
std::vector<Ends> ends_by_device(const Trace& t, const RowBlock& ops) {
  std::vector<Ends> ends(t.devices.size());
  for (Row op = ops.first; op < ops.end(); ++op)
    if (!is_unified(t.ops.copy[op])) ends[t.device_of(op)].emplace_back(t.ops.end[op], op);
  for (Ends& list : ends) std::sort(list.begin(), list.end());
  return ends;
}

// The operation of another stream that ended last before `op` started, and not long before, or
// no_row. What another crew launched only came by.
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

// By operation of the block: of what its thread had launched last on a few other streams of the
// device, the one that was done last when the operation began, or no_row. Streams wait for the one
// on which they were given work, as a rule; and what has waited may begin well after, since kernels
// that came meanwhile hold the SMs.
std::vector<Row> done_before(const ReplayGraph& g) {
  constexpr std::size_t streams = 4;
  const Trace& t = g.analysis.trace;
  std::vector<Row> done(g.steps.ops.count, no_row);
  std::vector<std::pair<Row, Row>> launched;  // call and operation, also of calls before the block
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
    if (t.ops.call[op] != no_row) launched.emplace_back(t.ops.call[op], op);
  std::sort(launched.begin(), launched.end());
  // By thread, the last operation on each of its last streams, the latest first.
  std::vector<std::vector<Row>> last(t.threads.size());
  for (const auto& [c, op] : launched) {
    std::vector<Row>& before = last[t.calls.thread[c]];
    std::erase_if(before, [&](Row b) { return t.ops.stream[b] == t.ops.stream[op]; });
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

// Finds what comes before each operation on its stream, and what launch and stream usually take:
// the lower quartile of starts on idle GPUs, since some of those waited for something else, and
// the median pause of streams that were fed in time, while no other stream had work.
void measure_streams(ReplayGraph& g) {
  const Trace& t = g.analysis.trace;
  const RowBlock& ops = g.steps.ops;
  g.stream_before.assign(ops.count, no_row);
  std::vector<Row> last(t.streams.size(), no_row);
  std::vector<Ns> from_idle, from_fed, busy_until(t.devices.size(), g.steps.window.start);
  for (Row op = ops.first; op < ops.end(); ++op) {
    // Migrations are the driver's own, while kernels wait in their midst.
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

// When a launch gives its operation to the GPU, and when the operation then usually starts. A call
// that takes long, since it first loads the kernel's code, does it last.
struct Submission {
  Node node = origin;
  Ns at = 0, usual_ns = 0;
};

Submission submission(const ReplayGraph& g, Row call, Row op) {
  const Calls& calls = g.analysis.trace.calls;
  const Ns start = calls.start[call], end = calls.end[call];
  const CallClass kind = g.call_class(call);
  const bool last = (kind == CallClass::launch || kind == CallClass::graph_launch) &&
                    end - start > slow_launch * g.launch_ns &&
                    g.analysis.trace.ops.start[op] >= end - g.launch_ns &&
                    g.recorded.has(g.end_node(call), edge::begin);
  return last ? Submission{g.end_node(call), end, 0}
              : Submission{g.begin_node(call), start, g.launch_ns};
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
    // What launch and stream leave unexplained. Where both leave much, an event of another stream
    // may have held the operation up; otherwise it waited for the one that leaves less.
    const Ns late = latency - launch.usual_ns, idle = gap - gap_ns;
    Row other = no_row;
    if (before != no_row && (call == no_row || late > unexplained_ns) && idle > unexplained_ns) {
      other = ended_just_before(*this, ends[t.device_of(op)], op);
      const Row given = done[op - steps.ops.first];
      if (other == no_row && given != no_row && t.ops.end[given] > t.ops.end[before]) other = given;
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
      // What had been queued before the first replayed step holds its first operations up.
      recorded.weight[node][edge::stream] = start;
  }
}

}  // namespace gh
