#include "whatif/trace_after.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "whatif/graph.hpp"

namespace gh {
namespace {

// Everything in a row except when it happens.
template <class Events>
void take_row(Row row, const Events& from, Events& to) {
  each_column(
      [row](auto column, const auto& values, auto& taken) {
        if constexpr (column.contents != Contents::time && is_recorded(column.contents))
          if (!values.empty()) taken.push_back(values[row]);
      },
      from, to);
}

class TraceMaker {
 public:
  TraceMaker(const ReplayGraph& g, const Edges& changed, const Changes& changes)
      : g_(g),
        e_(changed),
        t_(g.analysis.trace),
        at_(g.times(changed)),
        measured_(g.measured(at_)) {
    find_ops(changes);
    find_calls();
    find_moments();
  }

  TraceAfter make() {
    describe();
    take_calls();
    take_ops();
    take_host_events();
    take_rest();
    out_.trace.seal();
    find_steps();
    find_way_back();
    return std::move(out_);
  }

 private:
  enum class Fate : std::uint8_t { stays, gone, in_graph, aside };

  Ns end_of(Row op) const { return at_[g_.op_node(op)]; }
  Ns start_of(Row op) const { return g_.start_of(op, e_, at_); }
  Fate fate_of(Row op) const { return fates_[op - g_.steps.ops.first]; }
  bool call_gone(Row call) const { return calls_gone_[call - g_.steps.calls.first]; }

  // ---- what becomes of each row

  void find_ops(const Changes& changes) {
    fates_.assign(g_.steps.ops.count, Fate::stays);
    for (const Change& c : changes)
      if (is_one_of<change::Graph, change::Overlap>(c))
        for (const Row op : ops_of(c))
          if (g_.steps.ops.holds(op))
            fates_[op - g_.steps.ops.first] =
                is_one_of<change::Graph>(c) ? Fate::in_graph : Fate::aside;
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op)
      if (e_.length[g_.op_node(op)] == 0 && g_.recorded.length[g_.op_node(op)] > 0)
        fates_[op - g_.steps.ops.first] = Fate::gone;
  }

  // A removed call takes no time and waits for nothing. What the driver called inside it is removed
  // too.
  void find_calls() {
    calls_gone_.assign(g_.steps.calls.count, false);
    graph_of_.assign(g_.steps.calls.count, no_row);
    std::vector<bool> outermost(g_.steps.calls.count, false);
    std::vector<bool> gone(t_.threads.size(), false);  // the thread's last outermost call
    for (const auto& calls : g_.thread_calls)
      for (const Row c : calls) outermost[c - g_.steps.calls.first] = true;
    for (Row c = g_.steps.calls.first; c < g_.steps.calls.end(); ++c) {
      const Node end = g_.end_node(c);
      const std::uint16_t thread = t_.calls.thread[c];
      if (outermost[c - g_.steps.calls.first])
        gone[thread] = !e_.has(end, edge::wait) && !e_.has(end, edge::wait_beside) &&
                       e_.weight[end][edge::begin] == 0 && t_.calls.end[c] > t_.calls.start[c];
      calls_gone_[c - g_.steps.calls.first] = gone[thread];
    }
    find_graphs();
  }

  // Operations whose launches are removed are launched by the remaining launch before them.
  void find_graphs() {
    std::vector<bool> captured(g_.steps.calls.count, false);
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op)
      if (const Row call = g_.launch_of(op); call != no_row && fate_of(op) == Fate::in_graph)
        captured[call - g_.steps.calls.first] = true;
    for (const auto& calls : g_.thread_calls) {
      Row head = no_row;
      for (const Row c : calls) {
        if (!captured[c - g_.steps.calls.first]) continue;
        if (!call_gone(c)) head = c;
        graph_of_[c - g_.steps.calls.first] = head;
      }
    }
  }

  // ---- when things happen

  void find_moments() {
    const Ns start = g_.steps.window.start;
    threads_.resize(t_.threads.size());
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      const std::vector<Row>& calls = g_.thread_calls[thread];
      if (calls.empty()) continue;
      threads_[thread].add(start, start);
      for (const Row c : calls) {
        threads_[thread].add(t_.calls.start[c], at_[g_.begin_node(c)]);
        threads_[thread].add(t_.calls.end[c], at_[g_.end_node(c)]);
        if (calls.size() > g_.thread_calls[busiest_].size()) busiest_ = thread;
      }
      threads_[thread].sort();
    }
    devices_.resize(t_.devices.size());
    for (Moments& m : devices_) m.add(start, start);
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op) {
      devices_[t_.device_of(op)].add(t_.ops.start[op], start_of(op));
      devices_[t_.device_of(op)].add(t_.ops.end[op], end_of(op));
    }
    for (Moments& m : devices_) m.sort();
  }

  // A thread that makes no calls uses the times of the thread that makes most.
  const Moments& moments_of(std::size_t thread) const {
    return thread < threads_.size() && !threads_[thread].empty() ? threads_[thread]
                                                                 : threads_[busiest_];
  }
  const Moments& of_device(std::uint16_t device) const { return devices_[device]; }
  bool within(Ns start) const {
    return start >= g_.steps.window.start && start < g_.steps.window.end;
  }

  // ---- rows

  void describe() {
    Trace& o = out_.trace;
    o.path = t_.path;
    o.format = t_.format;
    o.producer = t_.producer;
    o.schema = t_.schema;
    o.host = t_.host;
    o.ranges_are = t_.ranges_are;
    o.names = Names(t_.names);
    o.devices = t_.devices;
    o.processes = t_.processes;
    o.threads = t_.threads;
    o.streams = t_.streams;
    o.groups = t_.groups;
    o.monitor = t_.monitor;
    o.sources = t_.sources;
    o.environment_variables = t_.environment_variables;
    o.environment = t_.environment;
    o.clocks_aligned = t_.clocks_aligned;
    const Ns all = std::max<Ns>(t_.capture_end - t_.capture_start, 1);
    o.recording_ns =
        static_cast<Ns>(static_cast<double>(t_.recording_ns) *
                        static_cast<double>(g_.steps.window.length()) / static_cast<double>(all));
    out_.window = g_.steps.window;
    graph_launch_ = o.names.intern("cudaGraphLaunch");
  }

  void take_calls() {
    const Calls& from = t_.calls;
    Calls& calls = out_.trace.calls;
    for (Row c = g_.steps.calls.first; c < g_.steps.calls.end(); ++c) {
      if (call_gone(c)) continue;
      const Span span = moments_of(from.thread[c]).at(Span{from.start[c], from.end[c]});
      calls.start.push_back(span.start);
      calls.end.push_back(span.end);
      take_row(c, from, calls);
      if (graph_of_[c - g_.steps.calls.first] == c) calls.name.back() = graph_launch_;
    }
  }

  void take_ops() {
    const Ops& from = t_.ops;
    Ops& ops = out_.trace.ops;
    std::map<std::uint32_t, std::uint32_t> aside;  // streams of operations that moved aside
    for (Row op = g_.steps.ops.first; op < g_.steps.ops.end(); ++op) {
      if (fate_of(op) == Fate::gone) continue;
      ops.start.push_back(start_of(op));
      ops.end.push_back(end_of(op));
      take_row(op, from, ops);
      if (fate_of(op) == Fate::aside) ops.stream.back() = stream_beside(from.stream[op], aside);
      const Row call = g_.launch_of(op);
      const Row graph = call == no_row ? no_row : graph_of_[call - g_.steps.calls.first];
      if (fate_of(op) != Fate::in_graph || graph == no_row) continue;
      ops.correlation.back() = t_.calls.correlation[graph];
      ops.in_graph.back() = 1;
    }
  }

  std::uint32_t stream_beside(std::uint32_t stream, std::map<std::uint32_t, std::uint32_t>& aside) {
    std::vector<Stream>& streams = out_.trace.streams;
    const auto [it, is_new] = aside.try_emplace(stream, static_cast<std::uint32_t>(streams.size()));
    if (is_new) {
      Stream added = streams[stream];
      for (const Stream& s : streams) added.id = std::max(added.id, s.id + 1);
      streams.push_back(added);
    }
    return it->second;
  }

  // What a thread did moves with its calls. Of events that began before the steps, only those
  // remain that last until after them.
  template <class Events>
  void take_events(const Events& from, Events& events) {
    for (Row r = 0; r < from.size(); ++r) {
      const bool around =
          from.start[r] < g_.steps.window.start && from.end[r] >= g_.steps.window.end;
      if (!around && !within(from.start[r])) continue;
      const Span span = moments_of(from.thread[r])
                            .at(Span{std::max(from.start[r], g_.steps.window.start),
                                     std::min(from.end[r], g_.steps.window.end)});
      events.start.push_back(span.start);
      events.end.push_back(span.end);
      take_row(r, from, events);
    }
  }

  void take_host_events() {
    Trace& o = out_.trace;
    take_events(t_.ranges, o.ranges);
    take_events(t_.frames, o.frames);
    take_events(t_.os_calls, o.os_calls);
    const Forwards& from = t_.forwards;
    for (Row r = 0; r < from.size(); ++r) {
      if (!within(from.start[r])) continue;
      o.forwards.start.push_back(moments_of(from.thread[r]).at(from.start[r]));
      o.forwards.forward_start.push_back(
          moments_of(from.forward_thread[r]).at(from.forward_start[r]));
      take_row(r, from, o.forwards);
    }
    for (const Span span : t_.profiler_overhead)
      if (within(span.start)) o.profiler_overhead.push_back(moments_of(no_index).at(span));
  }

  void take_rest() {
    Trace& o = out_.trace;
    for (Row s = 0; s < t_.syncs.size(); ++s) {
      const Row call = t_.syncs.call[s];
      if (call == no_row || !g_.steps.calls.holds(call) || call_gone(call)) continue;
      const Span span =
          moments_of(t_.calls.thread[call]).at(Span{t_.syncs.start[s], t_.syncs.end[s]});
      o.syncs.start.push_back(span.start);
      o.syncs.end.push_back(span.end);
      take_row(s, t_.syncs, o.syncs);
    }
    const MemoryUse& memory = t_.memory_use;
    for (Row r = 0; r < memory.size(); ++r) {
      // What is in use when the steps begin stays in use.
      if (memory.start[r] >= g_.steps.window.end) break;
      o.memory_use.start.push_back(
          within(memory.start[r]) ? moments_of(no_index).at(memory.start[r]) : 0);
      take_row(r, memory, o.memory_use);
    }
    take_allocations();
    const Samples& samples = t_.samples;
    for (Row r = 0; r < samples.size(); ++r) {
      if (!within(samples.start[r])) continue;
      o.samples.start.push_back(of_device(samples.device[r]).at(samples.start[r]));
      take_row(r, samples, o.samples);
    }
  }

  void take_allocations() {
    const Allocations& from = t_.allocations;
    Allocations& o = out_.trace.allocations;
    o.by = from.by;
    for (Row r = 0; r < from.size() && from.start[r] < g_.steps.window.end; ++r) {
      o.start.push_back(within(from.start[r]) ? moments_of(from.thread[r]).at(from.start[r]) : 0);
      take_row(r, from, o);
    }
  }

  // ---- steps

  // From the end of the previous step to the latest end of an operation of the step.
  std::vector<Step> steps_of(std::size_t d) const {
    const DeviceSteps& recorded = g_.analysis.devices[d];
    const auto [first, count] = g_.steps.device_steps[d];
    std::vector<Ns> ends(count, std::numeric_limits<Ns>::min());
    Ns start = std::numeric_limits<Ns>::max();
    for (const Row op : g_.steps.device_ops[d]) {
      if (fate_of(op) == Fate::gone) continue;
      Ns& end = ends[static_cast<std::size_t>(g_.steps.step_of(op))];
      end = std::max(end, end_of(op));
      start = std::min(start, start_of(op));
    }
    // A window begins with the host's first launch, and may end after its last operation.
    if (g_.steps.whole && start != std::numeric_limits<Ns>::max()) {
      start = measured_[d].start;
      ends.front() = measured_[d].end;
    }
    std::vector<Step> steps;
    for (std::size_t k = 0; k < count; ++k) {
      if (ends[k] <= start) continue;
      const Step& was = recorded.steps[first + k];
      steps.push_back({{start, ends[k]}, was.number, moments_of(busiest_).at(was.host_start)});
      start = ends[k];
    }
    return steps;
  }

  void find_steps() {
    for (std::size_t d = 0; d < g_.analysis.devices.size(); ++d) {
      const DeviceSteps& recorded = g_.analysis.devices[d];
      DeviceSteps device;
      device.device = recorded.device;
      device.process = recorded.process;
      device.source = recorded.source;
      device.levels = recorded.levels;
      device.described = recorded.described;
      device.steps = steps_of(d);
      for (Row op = 0; op < out_.trace.ops.size(); ++op)
        if (out_.trace.device_of(op) == device.device) device.ops.push_back(op);
      if (!device.steps.empty()) out_.devices.push_back(std::move(device));
    }
  }

  void find_way_back() {
    for (std::size_t d = 0; d < devices_.size(); ++d)
      out_.device_moments[t_.devices[d].ordinal] = devices_[d].reversed();
    for (std::uint16_t thread = 0; thread < threads_.size(); ++thread)
      if (!threads_[thread].empty())
        out_.thread_moments[t_.thread_label(thread)] = threads_[thread].reversed();
    out_.thread_moments[""] = moments_of(busiest_).reversed();
  }

  const ReplayGraph& g_;
  const Edges& e_;
  const Trace& t_;
  const std::vector<Ns> at_;
  const std::vector<Span> measured_;  // by analyzed device
  std::vector<Fate> fates_;           // by operation of the block
  std::vector<bool> calls_gone_;      // by call of the block
  std::vector<Row> graph_of_;  // by call of the block: the call that launches its graph, or no_row
  std::vector<Moments> threads_;  // by thread; empty for one that makes no calls
  std::vector<Moments> devices_;
  std::size_t busiest_ = 0;  // the thread with most calls
  NameId graph_launch_ = 0;
  TraceAfter out_;
};

}  // namespace

void Moments::sort() {
  std::stable_sort(points_.begin(), points_.end());
  for (std::size_t i = 1; i < points_.size(); ++i)
    points_[i].second = std::max(points_[i].second, points_[i - 1].second);
}

Moments Moments::reversed() const {
  Moments back;
  for (const auto& [from, to] : points_) back.add(to, from);
  back.sort();
  return back;
}

// `after`: the first point beyond `from`.
Ns Moments::between(Points::const_iterator after, Ns from) const {
  if (points_.empty()) return from;
  if (after == points_.begin()) return after->second - (after->first - from);
  const auto [x, y] = *std::prev(after);
  if (after == points_.end() || after->first <= x) return y + (from - x);
  const double part = static_cast<double>(from - x) / static_cast<double>(after->first - x);
  return y + static_cast<Ns>(part * static_cast<double>(after->second - y));
}

Ns Moments::at(Ns from) const {
  return between(std::upper_bound(points_.begin(), points_.end(),
                                  std::pair(from, std::numeric_limits<Ns>::max())),
                 from);
}

Span Moments::at(Span from) const {
  const Ns start = at(from.start);
  const auto end = std::lower_bound(points_.begin(), points_.end(),
                                    std::pair(from.end, std::numeric_limits<Ns>::min()));
  const bool known = end != points_.end() && end->first == from.end;
  return {start, std::max(start, known ? end->second : at(from.end))};
}

Span TraceAfter::recorded(Span span, int device, const std::string& thread) const {
  const auto of_thread = thread_moments.find(thread);
  const auto of_device = device_moments.find(device);
  // A device is idle because of what the host did meanwhile.
  const Moments& moments = !thread.empty() && of_thread != thread_moments.end() ? of_thread->second
                           : of_device != device_moments.end()                  ? of_device->second
                                                               : thread_moments.at("");
  const Span back = moments.at(span);
  const Ns start = std::clamp(back.start, window.start, window.end);
  return {start, std::clamp(back.end, start, window.end)};
}

TraceAfter trace_after(const ReplayGraph& graph, const Edges& changed, const Changes& changes) {
  return TraceMaker(graph, changed, changes).make();
}

}  // namespace gh
