// The host: calls in order, the time between them, and which thread hands over to which, as
// PyTorch's main thread and autograd's do.
#include <algorithm>
#include <limits>

#include "analysis/recording_cost.hpp"
#include "whatif/graph.hpp"

namespace gh {
namespace {

// If no wait in the system was recorded, a thread resumes at most this long after the last call of
// the other that it waits for, or within this share of its silence: a thread that stops launching
// for reasons of its own does so as late as that by chance.
constexpr Ns handover_late_ns = 2'000'000;
constexpr Ns late_by_chance = 33;
constexpr std::ptrdiff_t handover_launches = 3;

// Which threads may hand over to each other: those of a crew, whose work follows one another. And
// which thread another one is born of: it has no calls before, and did not work in silence until
// then.
class Handovers {
 public:
  explicit Handovers(const ReplayGraph& g)
      : g_(g),
        launches_(g.thread_calls.size()),
        waits_(g.thread_calls.size()),
        makes_(g.analysis.trace.processes.size()) {
    const Trace& t = g.analysis.trace;
    const OsCalls& os = t.os_calls;
    for (Row c = 0; c < os.size(); ++c) {
      if (os.end[c] - os.start[c] >= least_silence_ns &&
          g.analysis.names.does(OsCallDoes::wait_thread, os.name[c]))
        waits_[os.thread[c]].push_back({os.start[c], os.end[c]});
      if (g.analysis.names.does(OsCallDoes::make_thread, os.name[c]))
        makes_[t.threads[os.thread[c]].process].push_back(c);
    }
    find_first_seen();
    for (std::uint16_t thread = 0; thread < launches_.size(); ++thread) {
      for (const Row c : g.thread_calls[thread])
        if (launches(g.call_class(c))) launches_[thread].push_back(t.calls.start[c]);
      // Only a few threads can have taken over: a damaged report may have a thread for each call.
      if (static_cast<std::ptrdiff_t>(launches_[thread].size()) >= handover_launches)
        launchers_.push_back(thread);
    }
  }

  // Whether most of a silence was recorded as a wait in the system. Before and after it either
  // thread may work for long, as main does before backward, and an optimizer in Python after it.
  bool waited(std::uint16_t thread, Span silent) const {
    const std::vector<Span>& waits = waits_[thread];
    auto wait = std::partition_point(waits.begin(), waits.end(),
                                     [&](Span w) { return w.end <= silent.start; });
    for (; wait != waits.end() && wait->start < silent.end; ++wait)
      if (2 * (std::min(wait->end, silent.end) - std::max(wait->start, silent.start)) >
          silent.length())
        return true;
    return false;
  }

  // The call of another thread whose end `thread` was waiting for while it made no calls, or
  // no_row. `first`: it made none before in the window.
  Row waited_for(std::uint16_t thread, Span silent, bool first) const {
    if (first)
      if (const Row before = before_birth(thread, silent.start); before != no_row) return before;
    if (silent.length() < least_silence_ns || launches_[thread].empty()) return no_row;
    const Trace& t = g_.analysis.trace;
    const Ns late = first ? silent.length()
                    : waited(thread, silent)
                        ? silent.length() / 2
                        : std::max(handover_late_ns, silent.length() / late_by_chance);
    Row latest = no_row;
    for (const std::uint16_t by : launchers_) {
      if (by == thread || g_.crews.of(by) != g_.crews.of(thread)) continue;
      const std::vector<Ns>& launched = launches_[by];
      const auto from = std::lower_bound(launched.begin(), launched.end(), silent.start),
                 to = std::lower_bound(from, launched.end(), silent.end);
      if (to - from < handover_launches) continue;
      const std::vector<Row>& calls = g_.thread_calls[by];
      const auto over = std::partition_point(calls.begin(), calls.end(),
                                             [&](Row x) { return t.calls.end[x] <= silent.end; });
      if (over == calls.begin()) continue;
      const Row call = *std::prev(over);
      if (silent.end - t.calls.end[call] < late &&
          (latest == no_row || t.calls.end[call] > t.calls.end[latest]))
        latest = call;
    }
    return latest;
  }

 private:
  // The last call before a thread was made, by the one that made it: the last of its process that
  // did so before the thread was first seen. no_row if that was not recorded, or before `from`.
  Row before_birth(std::uint16_t thread, Ns from) const {
    const Trace& t = g_.analysis.trace;
    const std::vector<Row>& makes = makes_[t.threads[thread].process];
    auto made = std::partition_point(makes.begin(), makes.end(), [&](Row c) {
      return t.os_calls.start[c] <= first_seen_[thread];
    });
    while (made != makes.begin()) {
      const Row make = *--made;
      if (t.os_calls.start[make] < from) return no_row;
      const std::uint16_t by = t.os_calls.thread[make];
      if (by == thread) continue;
      const std::vector<Row>& calls = g_.thread_calls[by];
      const auto over = std::partition_point(calls.begin(), calls.end(), [&](Row x) {
        return t.calls.end[x] <= t.os_calls.start[make];
      });
      return over == calls.begin() ? no_row : *std::prev(over);
    }
    return no_row;
  }

  void find_first_seen() {
    const Trace& t = g_.analysis.trace;
    first_seen_.assign(t.threads.size(), std::numeric_limits<Ns>::max());
    const auto see = [&](const auto& rows) {
      for (Row r = 0; r < rows.size(); ++r) {
        Ns& first = first_seen_[rows.thread[r]];
        first = std::min(first, rows.start[r]);
      }
    };
    if (std::all_of(makes_.begin(), makes_.end(), [](const auto& m) { return m.empty(); })) return;
    see(t.calls);
    see(t.os_calls);
    see(t.ranges);
  }

  const ReplayGraph& g_;
  std::vector<std::vector<Ns>> launches_;  // by thread: when it launched
  std::vector<std::vector<Span>> waits_;   // by thread: in the system, in order
  std::vector<std::uint16_t> launchers_;
  std::vector<std::vector<Row>> makes_;  // by process: OS calls that made threads, in order
  std::vector<Ns> first_seen_;           // by thread; empty if none was made
};

// By thread: the calls that are not nested in another one.
std::vector<std::vector<Row>> outermost_calls(const Trace& t, const ReplayedSteps& steps) {
  std::vector<std::vector<Row>> of_thread(t.threads.size());
  std::vector<Ns> until(t.threads.size(), steps.window.start);
  for (Row c = steps.calls.first; c < steps.calls.end(); ++c) {
    const std::uint16_t thread = t.calls.thread[c];
    if (!of_thread[thread].empty() && t.calls.end[c] <= until[thread]) continue;
    until[thread] = t.calls.end[c];
    of_thread[thread].push_back(c);
  }
  return of_thread;
}

// By call of the block: what it cost to record the ranges that its thread began since its previous
// call.
std::vector<Ns> recording_before_calls(const ReplayGraph& g) {
  const Trace& t = g.analysis.trace;
  const RecordingCost cost(t);
  std::vector<Ns> before(g.steps.calls.count);
  std::vector<std::size_t> next(g.thread_calls.size());  // the thread's first call after a range
  for (Row r = 0; r < t.ranges.size(); ++r) {
    const std::vector<Row>& calls = g.thread_calls[t.ranges.thread[r]];
    std::size_t& at = next[t.ranges.thread[r]];
    while (at < calls.size() && t.calls.start[calls[at]] < t.ranges.start[r]) ++at;
    if (at < calls.size()) before[calls[at] - g.steps.calls.first] += cost.of_range(r);
  }
  // Ranges that began before the block belong to nothing in it.
  for (const std::vector<Row>& calls : g.thread_calls)
    if (!calls.empty()) before[calls.front() - g.steps.calls.first] = 0;
  return before;
}

std::vector<Spans> idle_by_thread(const Analysis& a, Span window) {
  std::vector<Spans> of_thread(a.trace.threads.size());
  for (const DeviceAccount& device : a.account.devices)
    for (const Idle& idle : device.idle)
      if (idle.thread != no_index && idle.span.end > window.start && idle.span.start < window.end)
        of_thread[idle.thread].push_back(idle.span);
  for (Spans& spans : of_thread) spans = united(std::move(spans));
  return of_thread;
}

}  // namespace

void ReplayGraph::find_host_edges() {
  const Trace& t = analysis.trace;
  thread_calls = outermost_calls(t, steps);
  thread_idle = idle_by_thread(analysis, steps.window);
  launch_call_ns = usual_launch_ns(t, analysis.names, steps.ops.first, steps.ops.end());
  if (t.ranges.size() > 0) recording_before = recording_before_calls(*this);
  const Handovers handovers(*this);
  for (std::uint16_t thread = 0; thread < thread_calls.size(); ++thread) {
    Row before = no_row;
    for (const Row c : thread_calls[thread]) {
      const Node b = begin_node(c);
      const Ns start = t.calls.start[c];
      if (before == no_row)
        recorded.set(b, edge::previous, origin, start);
      else
        recorded.set(b, edge::previous, end_node(before), start - t.calls.end[before]);
      recorded.set(end_node(c), edge::begin, b, t.calls.end[c] - start);

      const Ns free_at =
          before == no_row ? steps.window.start : std::min(t.calls.end[before], start);
      if (handovers.waited(thread, {free_at, start})) recorded_waits.push_back(c);
      if (const Row other = handovers.waited_for(thread, {free_at, start}, before == no_row);
          other != no_row) {
        recorded.set(b, edge::handover, end_node(other), start - t.calls.end[other]);
        recorded.weight[b][edge::previous] = before == no_row ? steps.window.start : 0;
      }
      before = c;
    }
  }
  std::sort(recorded_waits.begin(), recorded_waits.end());
}

}  // namespace gh
