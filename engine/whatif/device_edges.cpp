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
// no_row.
Row ended_just_before(const Trace& t, const Ends& ends, Row op) {
  const Ns start = t.ops.start[op];
  for (auto it = std::lower_bound(ends.begin(), ends.end(), std::pair(start, no_row));
       it != ends.begin();) {
    --it;
    if (start - it->first > event_wait_ns) break;
    if (t.ops.stream[it->second] != t.ops.stream[op] && it->second < op) return it->second;
  }
  return no_row;
}

// By operation of the block: of a collective, what its thread had launched last before it on
// another stream of the device. That made its data: libraries let a collective wait for the stream
// on which it was asked for. It may begin well after, since kernels that came meanwhile hold the
// SMs.
std::vector<Row> data_of_collectives(const ReplayGraph& g) {
  const Trace& t = g.analysis.trace;
  std::vector<Row> launched(g.steps.calls.count, no_row), data(g.steps.ops.count, no_row),
      last(t.threads.size(), no_row);
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op)
    if (const Row c = g.launch_of(op); c != no_row) launched[c - g.steps.calls.first] = op;
  for (Row c = g.steps.calls.first; c < g.steps.calls.end(); ++c) {
    const Row op = launched[c - g.steps.calls.first];
    if (op == no_row) continue;
    Row& before = last[t.calls.thread[c]];
    if (g.analysis.kernel_class(op) != "collective")
      before = op;
    else if (before != no_row && t.device_of(before) == t.device_of(op) &&
             t.ops.stream[before] != t.ops.stream[op] && t.ops.end[before] <= t.ops.start[op])
      data[op - g.steps.ops.first] = before;
  }
  return data;
}

// Finds what comes before each operation on its stream, and what launch and stream usually take:
// the lower quartile of starts on idle streams, since some of those waited for something else, and
// the median pause of streams that were fed in time.
void measure_streams(ReplayGraph& g) {
  const Trace& t = g.analysis.trace;
  const RowBlock& ops = g.steps.ops;
  g.stream_before.assign(ops.count, no_row);
  std::vector<Row> last(t.streams.size(), no_row);
  std::vector<Ns> from_idle, from_fed;
  for (Row op = ops.first; op < ops.end(); ++op) {
    // Migrations are the driver's own, while kernels wait in their midst.
    if (is_unified(t.ops.copy[op])) continue;
    const Row before = std::exchange(last[t.ops.stream[op]], op);
    g.stream_before[op - ops.first] = before;
    const Row call = g.launch_of(op);
    if (call == no_row || before == no_row) continue;
    const Ns launched = t.calls.start[call], idle_from = t.ops.end[before];
    if (launched > idle_from)
      from_idle.push_back(t.ops.start[op] - launched);
    else if (launched + launched_ahead_ns < idle_from)
      from_fed.push_back(t.ops.start[op] - idle_from);
  }
  if (!from_idle.empty()) {
    const auto quartile = from_idle.begin() + static_cast<std::ptrdiff_t>(from_idle.size() / 4);
    std::nth_element(from_idle.begin(), quartile, from_idle.end());
    g.launch_ns = *quartile;
  }
  g.gap_ns = std::max<Ns>(median(std::move(from_fed)), 0);
}

}  // namespace

void ReplayGraph::find_device_edges() {
  measure_streams(*this);
  const Trace& t = analysis.trace;
  const std::vector<Ends> ends = ends_by_device(t, steps.ops);
  const std::vector<Row> data = data_of_collectives(*this);
  for (Row op = steps.ops.first; op < steps.ops.end(); ++op) {
    const Node node = op_node(op);
    const Ns start = t.ops.start[op];
    recorded.length[node] = t.ops.end[op] - start;
    const Row call = launch_of(op), before = stream_before[op - steps.ops.first];
    if (is_unified(t.ops.copy[op]) || (call == no_row && before == no_row)) {
      recorded.weight[node][edge::launch] = start;
      continue;
    }

    const Ns latency = call == no_row ? absent : start - t.calls.start[call],
             gap = before == no_row ? absent : start - t.ops.end[before];
    // What launch and stream leave unexplained. Where both leave much, an event of another stream
    // may have held the operation up; otherwise it waited for the one that leaves less.
    const Ns late = latency - launch_ns, idle = gap - gap_ns;
    Row other = no_row;
    if (call != no_row && before != no_row && late > unexplained_ns && idle > unexplained_ns)
      other = ended_just_before(t, ends[t.device_of(op)], op);
    if (const Row made = data[op - steps.ops.first]; made != no_row && other == no_row &&
                                                     before != no_row &&
                                                     t.ops.end[made] > t.ops.end[before])
      other = made;
    if (other != no_row)
      recorded.set(node, edge::other_stream, op_node(other), start - t.ops.end[other]);
    const bool by_launch = other == no_row && call != no_row && (before == no_row || late <= idle);
    const bool by_stream = other == no_row && !by_launch;

    if (call != no_row)
      recorded.set(node, edge::launch, begin_node(call),
                   by_launch ? latency : std::min(launch_ns, latency));
    if (before != no_row)
      recorded.set(node, edge::stream, op_node(before), by_stream ? gap : std::min(gap_ns, gap));
    else  // what had been queued before the first replayed step holds its first operations up
      recorded.weight[node][edge::stream] = start;
  }
}

}  // namespace gh
