#include "whatif/apply.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/span_cursor.hpp"
#include "whatif/graph_capture.hpp"

namespace gh {
namespace {

// Changes cannot make anything longer than this, however many there are: the sum of all of a
// trace's lengths still fits into Ns.
constexpr Ns longest_grown_ns = 100'000'000'000;

Ns changed(Ns from, Ns to) { return std::clamp<Ns>(to, 0, std::max(from, longest_grown_ns)); }

// The host time that a change affects: parts of pauses between calls, and spans that stand for the
// whole pause in which they lie.
struct HostTime {
  Spans parts, whole;

  void add(const HostTime& other) {
    parts.insert(parts.end(), other.parts.begin(), other.parts.end());
    whole.insert(whole.end(), other.whole.begin(), other.whole.end());
  }
  void unite() {
    parts = united(std::move(parts));
    whole = united(std::move(whole));
  }
};

class Application {
 public:
  Application(const ReplayGraph& graph, Guess guess, Edges& edges)
      : g_(graph), guess_(guess), e_(edges) {}

  void operator()(const change::Remove& remove) {
    for (const Row op : remove.ops)
      if (holds_op(op)) forget_op(op);
  }

  // Two fixes of one operation do not multiply: each gives the time that the operation then takes.
  void operator()(const change::Scale& scale) {
    const double by = guessed(scale.factor);
    for (const Row op : scale.ops) {
      if (!holds_op(op)) continue;
      const Node n = g_.op_node(op);
      const Ns recorded = g_.recorded.length[n];
      e_.length[n] = by > 1 ? changed(e_.length[n], scaled(e_.length[n], by))
                            : std::min(e_.length[n], std::max(scaled(recorded, by),
                                                              g_.needed_ns(op, scale, guess_)));
    }
  }

  void operator()(const change::Shorten& shorten) {
    for (std::size_t i = 0; i < shorten.ops.size(); ++i) {
      if (!holds_op(shorten.ops[i])) continue;
      Ns& length = e_.length[g_.op_node(shorten.ops[i])];
      const Ns left = std::max<Ns>(0, length - shorten.cut_ns[i]);
      if (shorten.cut_ns[i] > 0)
        length = std::max(left, std::min(length, streamed_ns(shorten.ops[i])));
    }
  }

  // The first operation of each run within a step stands for the whole run.
  void operator()(const change::Fuse& fuse) {
    struct Run {
      Ns longest = 0, sum = 0;
    };
    std::vector<Node> head(g_.steps.ops.count, origin);  // of an operation's run
    std::map<Node, Run> runs;                            // by head
    std::vector<Row> ops = fuse.ops;
    std::sort(ops.begin(), ops.end());
    for (const Row op : ops) {
      if (!holds_op(op)) continue;
      const Row first = g_.steps.ops.first, before = g_.stream_before[op - first];
      const Node n = g_.op_node(op);
      const bool goes_on = before != no_row && head[before - first] != origin &&
                           g_.steps.step_of(before) == g_.steps.step_of(op);
      head[op - first] = goes_on ? head[before - first] : n;
      Run& run = runs[head[op - first]];
      run.longest = std::max(run.longest, e_.length[n]);
      run.sum += e_.length[n];
      if (goes_on) forget_op(op);
    }
    for (const auto& [node, run] : runs)
      e_.length[node] = std::min(scaled(run.longest, guessed(fuse.factor)), run.sum);
  }

  void operator()(const change::Graph& graph) {
    const GraphCapture capture(g_, graph.ops, guess_);
    for (const Row call : capture.needless_calls()) forget_call(call);
    for (const Row op : graph.ops) {
      if (!holds_op(op) || capture.begins_graph(op)) continue;
      const Node n = g_.start_node(op);
      if (e_.from[n][edge::launch] != origin) e_.weight[n][edge::launch] = absent;
      if (e_.from[n][edge::stream] != origin) e_.weight[n][edge::stream] = graph.gap_ns;
    }
  }

  // Moved operations wait only for moved ones of their stream, and nothing else waits for them but
  // calls that allocate or free memory and waited: they wait for all streams of their device.
  void operator()(const change::Overlap& overlap) {
    const Trace& t = g_.analysis.trace;
    std::vector<std::uint8_t> moved(e_.from.size());
    for (const Row op : overlap.ops)
      if (holds_op(op)) moved[g_.op_node(op)] = 1;
    std::vector<Node> stayed_before(t.streams.size(), origin),
        moved_before(t.streams.size(), origin);
    // By process and device: of the operations so far, the one that ended last of those that stay,
    // and of those that move. By operation of the block: these of its own then.
    std::vector<std::array<Row, 2>> latest(t.processes.size() * t.devices.size(), {no_row, no_row}),
        beside;
    beside.reserve(g_.steps.ops.count);
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op) {
      std::array<Row, 2>& ended = latest[t.process_of(op) * t.devices.size() + t.device_of(op)];
      if (is_unified(t.ops.copy[op])) {
        beside.push_back(ended);
        continue;
      }
      const Node n = g_.start_node(op), done = g_.op_node(op);
      Row& last = ended[moved[done]];
      if (last == no_row || t.ops.end[op] > t.ops.end[last]) last = op;
      beside.push_back(ended);
      Node& before = (moved[done] ? moved_before : stayed_before)[t.ops.stream[op]];
      if (e_.from[n][edge::stream] != origin)
        e_.set(n, edge::stream, before,
               before == origin ? absent : std::min(e_.weight[n][edge::stream], g_.gap_ns));
      if (e_.has(n, edge::other_stream) && (moved[done] || moved[e_.from[n][edge::other_stream]]))
        e_.weight[n][edge::other_stream] = absent;
      before = done;
    }
    for (const auto& calls : g_.thread_calls)
      for (const Row c : calls) {
        const Node end = g_.end_node(c);
        if (!e_.has(end, edge::wait)) continue;
        const Node done = e_.from[end][edge::wait];
        if (g_.call_class(c) == CallClass::allocation)
          wait_beside(c, beside[done - g_.first_op_node()][1 - moved[done]]);
        else if (moved[done])
          e_.weight[end][edge::wait] = absent;
      }
  }

  void operator()(const change::Unblock& unblock) {
    for (const Row c : unblock.calls)
      if (holds_call(c)) forget_wait(c);
  }

  void operator()(const change::Drop& drop) {
    for (const Row c : drop.calls)
      if (holds_call(c)) forget_call(c);
  }

  void operator()(const change::Pause& pause) {
    const double by = guessed(pause.factor);
    HostTime any;  // of any thread
    std::map<std::uint16_t, HostTime> by_thread;
    std::map<std::uint16_t, Spans> of_process;  // whole spans of any of its threads
    for (const HostSpan& h : pause.host) {
      HostTime& host = h.thread == no_index ? any : by_thread[h.thread];
      (h.whole ? host.whole : host.parts).push_back(h.span);
      if (h.whole && h.thread != no_index) of_process[process_of(h.thread)].push_back(h.span);
    }
    for (auto& [process, whole] : of_process) whole = united(std::move(whole));
    any.unite();
    for (auto& [thread, host] : by_thread) {
      host.add(any);
      host.unite();
    }
    const auto of = [&](std::uint16_t thread) -> const HostTime& {
      const auto own = by_thread.find(thread);
      return own == by_thread.end() ? any : own->second;
    };
    for (std::uint16_t thread = 0; thread < g_.thread_calls.size(); ++thread) {
      const HostTime& host = of(thread);
      const Spans& beside = of_process[process_of(thread)];
      if (host.parts.empty() && host.whole.empty() && beside.empty()) continue;
      SpanCursor idle(host.whole);
      for (const Row c : g_.thread_calls[thread]) {
        shorten_pause_before(c, thread, host, beside, by);
        // A call may go on after the work that it waits for has ended, and the GPU is then idle
        // during the call: that time is the call's own.
        const Ns own = idle.overlap(span_of_call(c));
        for (const std::size_t place :
             {std::size_t{edge::begin}, std::size_t{edge::wait}, std::size_t{edge::wait_beside}})
          cut(g_.end_node(c), place, own, by);
      }
    }
    // A call that returns sooner also starts sooner what it launches.
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op) {
      const Row c = g_.launch_of(op);
      if (c == no_row || e_.from[g_.start_node(op)][edge::launch] != g_.begin_node(c)) continue;
      const HostTime& host = of(g_.analysis.trace.calls.thread[c]);
      cut(g_.start_node(op), edge::launch, overlap(host.whole, span_of_call(c)), by);
    }
  }

 private:
  std::uint16_t process_of(std::uint16_t thread) const {
    return g_.analysis.trace.threads[thread].process;
  }

  // The pause is the host's work since its last call, or since the thread that it waited for was
  // done. `beside`: idle time of any thread of the process.
  void shorten_pause_before(Row call, std::uint16_t thread, const HostTime& host,
                            const Spans& beside, double by) {
    const Node b = g_.begin_node(call);
    const std::size_t place = e_.has(b, edge::handover) ? edge::handover : edge::previous;
    const bool leads = e_.from[b][place] == origin;
    if ((leads && !comes_first(call)) || e_.weight[b][place] <= 0) return;
    const Ns start = g_.analysis.trace.calls.start[call];
    const Span pause{leads ? g_.steps.window.start : start - g_.recorded.weight[b][place], start};
    // If the spans cover most of the idle time in a pause, the whole pause goes. Otherwise, and if
    // the thread was silent while another was expected to continue, only the idle time goes.
    const Ns idle = overlap(host.whole, pause);
    const bool whole = idle > 0 && 2 * idle >= overlap(g_.thread_idle[thread], pause);
    const Ns part = std::max(idle, overlap(beside, pause)) + overlap(host.parts, pause);
    shorten(b, place, whole ? pause.length() : part, by);
  }

  // Whether the window begins with what the host does before this call: nothing has run yet.
  bool comes_first(Row call) const {
    const Trace& t = g_.analysis.trace;
    return g_.steps.whole && g_.steps.ops.count > 0 &&
           g_.steps.window.start <= g_.analysis.analysed_window().start &&
           t.calls.start[call] <= t.ops.start[g_.steps.ops.first];
  }

  Span span_of_call(Row call) const {
    const Calls& calls = g_.analysis.trace.calls;
    return {calls.start[call], calls.end[call]};
  }

  // Scales `ns` of an edge's weight by `by`.
  void cut(Node n, std::size_t place, Ns ns, double by) {
    if (e_.from[n][place] != origin && e_.has(n, place)) shorten(n, place, ns, by);
  }

  void shorten(Node n, std::size_t place, Ns ns, double by) {
    Ns& weight = e_.weight[n][place];
    if (ns != 0) weight = changed(weight, weight - scaled(ns, 1 - by));
  }

  // What a kernel takes at least to read the pages that came to it while it ran: it may have
  // computed during all of its stalls. At most it also wrote them, no faster than the stencil of
  // `um-stencil-device`, which reads 256 MiB and writes as many in 0.254 ms: 0.44 of an H200's
  // peak.
  Ns streamed_ns(Row op) const {
    constexpr double slowest = 0.44;
    const Ops& ops = g_.analysis.trace.ops;
    std::int64_t bytes = 0;
    for (Row o = op + 1; o < g_.steps.ops.end() && ops.start[o] < ops.end[op]; ++o)
      if (ops.copy[o] == CopyKind::um_h2d &&
          g_.analysis.trace.device_of(o) == g_.analysis.trace.device_of(op))
        bytes += ops.bytes[o];
    const double rate = g_.rates(op, guess_).memory_bytes_per_s(),
                 peak = g_.rates(op, Guess::least).memory_bytes_per_s();
    if (bytes == 0 || rate <= 0) return 0;
    const auto ns = static_cast<double>(bytes) * 1e9;
    return std::llround(guess_ == Guess::most ? 2 * ns / (slowest * peak) : ns / rate);
  }

  double guessed(const Factor& f) const {
    switch (guess_) {
      case Guess::least: return f.least;
      case Guess::most: return f.most;
      default: return f.by;
    }
  }

  bool holds_op(Row op) const { return g_.steps.ops.holds(op); }
  bool holds_call(Row call) const { return g_.steps.calls.holds(call); }

  void forget_wait(Row call) {
    const Node end = g_.end_node(call);
    e_.weight[end][edge::wait] = e_.weight[end][edge::wait_beside] = absent;
  }

  // Lets a call that waits for one operation wait for another, too: the later one, where several
  // changes move work. Nodes are in order of their recorded times, so what ended before the call
  // comes before it.
  void wait_beside(Row call, Row op) {
    const Trace& t = g_.analysis.trace;
    if (op == no_row || t.ops.end[op] > t.calls.end[call]) return;
    const Node end = g_.end_node(call);
    if (e_.has(end, edge::wait_beside) &&
        t.ops.end[e_.from[end][edge::wait_beside] - g_.first_op_node() + g_.steps.ops.first] >=
            t.ops.end[op])
      return;
    e_.set(end, edge::wait_beside, g_.op_node(op), e_.weight[end][edge::wait]);
  }

  // What the host does before a call goes with it if that prepares it. Longer work may be needed
  // without the call, too: it goes only where all that a fix may save counts.
  void forget_call(Row call) {
    const Node b = g_.begin_node(call), e = g_.end_node(call);
    e_.weight[e][edge::begin] = 0;
    forget_wait(call);
    if (e_.from[b][edge::previous] != origin &&
        (guess_ == Guess::least || e_.weight[b][edge::previous] <= longest_preparation_ns))
      e_.weight[b][edge::previous] = 0;
  }
  void forget_launch(Row op) {
    const Node n = g_.start_node(op);
    if (const Row call = g_.launch_of(op); call != no_row) forget_call(call);
    if (e_.from[n][edge::launch] != origin) e_.weight[n][edge::launch] = absent;
  }
  void forget_op(Row op) {
    forget_launch(op);
    g_.leave_meeting(op, e_);
    const Node n = g_.start_node(op);
    e_.length[g_.op_node(op)] = 0;
    e_.weight[n][edge::other_stream] = absent;
    if (e_.from[n][edge::stream] != origin) e_.weight[n][edge::stream] = 0;
  }

  const ReplayGraph& g_;
  const Guess guess_;
  Edges& e_;
};

}  // namespace

Ns scaled(Ns ns, double by) {
  constexpr double most = 4e18;  // the most that fits and can still be added to another
  return static_cast<Ns>(std::llround(std::clamp(static_cast<double>(ns) * by, -most, most)));
}

void apply(const ReplayGraph& graph, const Change& change, Guess guess, Edges& edges) {
  std::visit(Application(graph, guess, edges), change);
}

}  // namespace gh
