// Waits: calls that do not return before the GPU has done something.
#include <algorithm>
#include <limits>
#include <string>

#include "whatif/graph.hpp"

namespace gh {
namespace {

// What a waiting call takes by itself.
constexpr Ns own_call_ns = 5'000;
// A launch that takes longer while many operations are queued is waiting for room in the queue. The
// driver queues about 1,000.
constexpr Ns queue_full_ns = 100'000;
constexpr std::ptrdiff_t queue_full = 200;

// Finds the operation that a call waited for.
class Waits {
 public:
  explicit Waits(const ReplayGraph& g)
      : g_(g),
        t_(g.analysis.trace),
        by_stream_(t_.streams.size()),
        streams_(t_.processes.size()),
        launched_by_(g.steps.calls.count, no_row),
        stream_of_sync_(g.steps.calls.count, std::numeric_limits<std::uint32_t>::max()) {
    const RowBlock &ops = g.steps.ops, &calls = g.steps.calls;
    for (Row op = ops.first; op < ops.end(); ++op) {
      if (!is_unified(t_.ops.copy[op])) by_stream_[t_.ops.stream[op]].push_back(op);
      if (const Row c = g.launch_of(op); c != no_row) launched_by_[c - calls.first] = op;
    }
    launches_wait_ = all_launches_wait();
    for (std::uint32_t s = 0; s < t_.streams.size(); ++s)
      if (!by_stream_[s].empty()) streams_[t_.streams[s].process].push_back(s);
    for (Row s = 0; s < t_.syncs.size(); ++s)
      if (const Row c = t_.syncs.call[s]; c != no_row && calls.holds(c))
        stream_of_sync_[c - calls.first] = t_.syncs.stream[s];
  }

  // Whether a call waits for whatever the GPU still does then.
  bool always_waits(Row call) const {
    return g_.call_class(call) == CallClass::sync ||
           g_.analysis.names.waits[t_.calls.name[call]] != 0;
  }

  Row spun_for(Row call) const { return synced_with(call, false); }

  Row waited_for(Row call) const {
    switch (const CallClass kind = g_.call_class(call)) {
      case CallClass::sync:
      case CallClass::allocation: return synced_with(call, kind == CallClass::allocation);
      case CallClass::copy: return copied(call);
      // One whose copy is not in the report waited for its stream all the same.
      case CallClass::copy_sync:
        return launched_by_[call - g_.steps.calls.first] == no_row ? synced_with(call, false)
                                                                   : copied(call);
      default: break;
    }
    if (!launches(g_.call_class(call))) return no_row;
    return launches_wait_ ? own_kernel(call) : room_made_by(call);
  }

 private:
  // Of the operations that a synchronization waits for (on its stream, or on all streams of the
  // process), the one that ended last. An allocation may wait for everything launched before on its
  // device; it did not if a stream of that still had work when it returned.
  Row synced_with(Row call, bool allocation) const {
    const std::uint16_t process = t_.threads[t_.calls.thread[call]].process;
    const std::string& name = t_.names[t_.calls.name[call]];
    const std::uint32_t synced = stream_of_sync_[call - g_.steps.calls.first];
    const bool of_stream = name.find("Stream") != name.npos && synced < t_.streams.size();
    // What was launched after an event was recorded may still run when the wait for the event ends.
    const bool all = name.find("Event") == name.npos;
    const std::vector<std::uint16_t> busy =
        allocation && !of_stream ? left_busy(call) : std::vector<std::uint16_t>();
    Row latest = no_row;
    for (const std::uint32_t s : streams_[process]) {
      // By process and id: in some reports the device of a wait is numbered within the process, in
      // others within the host.
      if (of_stream && t_.streams[s].id != t_.streams[synced].id) continue;
      if (std::find(busy.begin(), busy.end(), t_.streams[s].device) != busy.end()) continue;
      const Row done = last_done(s, call, all);
      // Work of another crew that ended well before the call did not delay it.
      if (done != no_row && of_another_crew(done, call) &&
          t_.calls.end[call] - t_.ops.end[done] > own_call_ns + clock_skew_ns)
        continue;
      latest = later(latest, done);
    }
    return latest;
  }

  // Devices of the process that still had work when an allocation returned, launched before it.
  std::vector<std::uint16_t> left_busy(Row call) const {
    std::vector<std::uint16_t> busy;
    for (const std::uint32_t s : streams_[t_.threads[t_.calls.thread[call]].process])
      if (launched(by_stream_[s].front()) < t_.calls.start[call] &&
          last_done(s, call, true) == no_row)
        busy.push_back(t_.streams[s].device);
    return busy;
  }

  bool of_another_crew(Row op, Row call) const {
    const std::uint16_t own = g_.crews.of(t_.calls.thread[call]), other = g_.crews.of_op(op);
    return own != no_index && other != no_index && own != other;
  }

  // The copy that the call itself launched, if it waited for it.
  Row copied(Row call) const {
    const Row op = launched_by_[call - g_.steps.calls.first];
    return op != no_row && waited_for_copy(t_, g_.call_class(call), call, op) ? op : no_row;
  }

  // Whether launches return when their kernels have ended (CUDA_LAUNCH_BLOCKING): then nine tenths
  // of the kernels' time lies within their own launches, otherwise almost none.
  bool all_launches_wait() const {
    Ns all = 0, within = 0;
    const RowBlock& ops = g_.steps.ops;
    for (Row op = ops.first; op < ops.end(); ++op) {
      const Row c = g_.launch_of(op);
      if (t_.ops.kind[op] != OpKind::kernel || c == no_row) continue;
      const Span kernel = t_.span_of(op);
      all += kernel.length();
      within += std::max<Ns>(
          0, std::min(kernel.end, t_.calls.end[c]) - std::max(kernel.start, t_.calls.start[c]));
    }
    return all > 0 && 10 * within >= 9 * all;
  }

  Row own_kernel(Row call) const {
    const Row op = launched_by_[call - g_.steps.calls.first];
    return op != no_row && t_.ops.end[op] <= t_.calls.end[call] + clock_skew_ns ? op : no_row;
  }

  // The operation whose end made room in the queue of a full stream.
  Row room_made_by(Row call) const {
    const Row op = launched_by_[call - g_.steps.calls.first];
    const Ns start = t_.calls.start[call], end = t_.calls.end[call];
    if (end - start < queue_full_ns || op == no_row) return no_row;
    const std::vector<Row>& ops = by_stream_[t_.ops.stream[op]];
    auto now = std::lower_bound(ops.begin(), ops.end(), op);
    // What a graph consists of does not stand in its own way.
    while (now != ops.begin() && t_.ops.call[*std::prev(now)] == call) --now;
    const auto queued =
        std::partition_point(ops.begin(), now, [&](Row o) { return t_.ops.end[o] <= end; });
    if (queued == ops.begin() || now - queued < queue_full) return no_row;
    const Row done = *std::prev(queued);
    return t_.ops.end[done] > start ? done : no_row;
  }

  // On a stream, the last operation that was launched before a call and had ended when the call
  // ended; `all`: only if no other had been launched.
  Row last_done(std::uint32_t stream, Row call, bool all) const {
    const std::vector<Row>& ops = by_stream_[stream];
    auto it = std::partition_point(ops.begin(), ops.end(), [&](Row op) {
      return t_.ops.end[op] <= t_.calls.end[call] + clock_skew_ns;
    });
    if (all && it != ops.end() && launched(*it) < t_.calls.start[call]) return no_row;
    while (it != ops.begin())
      if (const Row op = *--it; launched(op) < t_.calls.start[call]) return op;
    return no_row;
  }

  Ns launched(Row op) const {
    return t_.ops.call[op] == no_row ? t_.ops.start[op] : t_.calls.start[t_.ops.call[op]];
  }

  Row later(Row a, Row b) const {
    if (a == no_row || b == no_row) return a == no_row ? b : a;
    return t_.ops.end[b] > t_.ops.end[a] ? b : a;
  }

  const ReplayGraph& g_;
  const Trace& t_;
  std::vector<std::vector<Row>> by_stream_;          // operations of the block
  std::vector<std::vector<std::uint32_t>> streams_;  // by process: those with operations
  std::vector<Row> launched_by_;  // by call of the block: the last operation it launched
  bool launches_wait_ = false;
  std::vector<std::uint32_t> stream_of_sync_;  // by call of the block
};

}  // namespace

// The last call of a spin ends when what it asks for is done. It does not follow the others: with
// less to wait for there are fewer of them.
void ReplayGraph::end_spin(const std::vector<Row>& calls, std::size_t last, Ns since, Row op) {
  const Trace& t = analysis.trace;
  std::size_t first = last;
  while (first > 0 && t.calls.start[calls[first - 1]] >= since) --first;
  const Node end = end_node(calls[last]);
  recorded.set(begin_node(calls[last]), edge::previous, begin_node(calls[first]), 0);
  recorded.set(end, edge::wait, op_node(op), t.calls.end[calls[last]] - t.ops.end[op]);
}

void ReplayGraph::find_wait_edges() {
  const Trace& t = analysis.trace;
  const Waits waits(*this);
  std::vector<Ns> wakes;
  Ns unresolved_ns = 0;
  for (const auto& calls : thread_calls) {
    Spins spins(analysis);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const Row c = calls[i];
      const CallClass kind = call_class(c);
      if (spins.ends_with(c)) {
        if (const Row op = waits.spun_for(c); op != no_row && t.ops.end[op] > spins.since())
          end_spin(calls, i, spins.since(), op);
        continue;
      }
      const Ns start = t.calls.start[c], end = t.calls.end[c], took = end - start;
      const Row op = waits.waited_for(c);
      if (op == no_row) {
        // Early waits may be for work launched before the first replayed step.
        if (kind == CallClass::sync && took >= waited_ns &&
            (steps.whole || start > steps.window.start + steps.recorded_ns / 2))
          unresolved_ns += took;
        continue;
      }
      const Node e = end_node(c);
      if (t.ops.end[op] <= start) {  // it did not have to wait, but may have to after a change
        // One that frees memory waits first.
        if (waits.always_waits(c))
          recorded.set(e, edge::wait, op_node(op), kind == CallClass::sync ? 0 : took);
        continue;
      }
      const Ns wake = end - t.ops.end[op];
      recorded.set(e, edge::wait, op_node(op), wake);
      recorded.weight[e][edge::begin] =
          kind == CallClass::allocation ? std::clamp<Ns>(took - (t.ops.end[op] - start), 0, took)
                                        : std::clamp<Ns>(wake, 0, std::min(took, own_call_ns));
      // A copy is launched, whether or not it is waited for.
      if (launches(kind)) {
        Ns& own = recorded.weight[e][edge::begin];
        own = std::max(own, std::min(took, launch_call_ns));
      }
      if (kind == CallClass::sync) wakes.push_back(wake);
    }
  }
  wake_ns = median(std::move(wakes));
  unresolved = static_cast<double>(unresolved_ns) / static_cast<double>(steps.window.length());
}

}  // namespace gh
