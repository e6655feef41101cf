// Silences that turn out to be waits (silences.hpp) end after what they waited for. They overrule
// hand-overs that host_edges.cpp supposed.
#include <algorithm>
#include <limits>
#include <utility>

#include "whatif/graph.hpp"

namespace gh {
namespace {

// As many give a mean and a spread; each costs as much as the others.
constexpr std::size_t most_repetitions = 24;
constexpr std::size_t most_rows = 400'000;  // calls and operations of the repetitions
// Of the step: shorter silences change no forecast, whatever they are.
constexpr Ns least_of_step = 100;
// An end that is this many times as far off as usual has another cause, such as a lost row.
constexpr Ns far_off = 10;

// The steps of all devices around those that are replayed, by process.
std::vector<std::vector<Ns>> begins_of(const ReplayGraph& g) {
  const Analysis& a = g.analysis;
  std::vector<std::vector<Ns>> begins(a.trace.processes.size());
  if (g.steps.whole) return begins;
  // How many steps all devices have before and after the first that is replayed.
  const std::size_t replayed = g.steps.count;
  std::size_t before = std::numeric_limits<std::size_t>::max(), after = before;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const std::size_t first = g.steps.device_steps[d].first;
    before = std::min(before, first);
    after = std::min(after, a.devices[d].steps.size() - first);
  }
  before = std::min(before, std::max((most_repetitions - std::min(most_repetitions, replayed)) / 2,
                                     most_repetitions - std::min(most_repetitions, after)));
  std::size_t count = std::min(before + after, most_repetitions);
  const DeviceSteps& lead = a.devices.front();
  const auto rows_in = [&](std::size_t steps) {
    const std::size_t first = g.steps.device_steps[0].first - before;
    const Ns from = lead.steps[first].host_start, to = lead.steps[first + steps - 1].span.end;
    const auto count_in = [&](const std::vector<Ns>& start) {
      return static_cast<std::size_t>(std::lower_bound(start.begin(), start.end(), to) -
                                      std::lower_bound(start.begin(), start.end(), from));
    };
    return count_in(a.trace.calls.start) + count_in(a.trace.ops.start);
  };
  while (count > least_repetitions_of_silence && rows_in(count) > most_rows) {
    if (before > 0) --before;
    --count;
  }
  if (count < least_repetitions_of_silence || rows_in(count) > 4 * most_rows) return begins;
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    const DeviceSteps& device = a.devices[d];
    std::vector<Ns>& of = begins[device.process];
    if (!of.empty()) continue;
    const std::size_t first = g.steps.device_steps[d].first - before;
    for (std::size_t k = first; k < first + count; ++k) {
      const Ns begin = device.steps[k].host_start;
      of.push_back(of.empty() ? begin : std::max(begin, of.back()));
    }
    const std::size_t next = first + count;
    of.push_back(std::max(of.back(), next < device.steps.size() ? device.steps[next].host_start
                                                                : device.steps[next - 1].span.end));
  }
  return begins;
}

// How far the ends of recorded synchronizations are from the usual time after what they waited for.
Ns clock_error_of(const ReplayGraph& g) {
  std::vector<Ns> wakes;
  const Trace& t = g.analysis.trace;
  for (const auto& calls : g.thread_calls)
    for (const Row c : calls) {
      const Node end = g.end_node(c);
      if (g.call_class(c) != CallClass::sync || !g.recorded.has(end, edge::wait)) continue;
      const Row op = g.steps.ops.first + (g.recorded.from[end][edge::wait] - g.first_op_node());
      if (t.ops.end[op] > t.calls.start[c]) wakes.push_back(t.calls.end[c] - t.ops.end[op]);
    }
  const Ns usual = median(wakes);
  for (Ns& wake : wakes) wake = std::abs(wake - usual);
  return wakes.empty() ? clock_skew_ns : std::min(clock_skew_ns, median(std::move(wakes)));
}

// Adds what silences turn out to be to a graph.
class SilenceEdges {
 public:
  explicit SilenceEdges(ReplayGraph& g)
      : g_(g), t_(g.analysis.trace), outermost_(g.steps.calls.count) {
    for (const auto& calls : g.thread_calls)
      for (const Row c : calls) outermost_[c - g.steps.calls.first] = 1;
  }

  KnownOfSilences known() const {
    KnownOfSilences known;
    known.begins = begins_of(g_);
    known.clock_error_ns = clock_error_of(g_);
    known.waits = [this](Row c) { return holds(c) && g_.recorded.has(g_.end_node(c), edge::wait); };
    known.handed_over = [this](Row c) {
      // What was recorded as a wait in the system is no work.
      const auto& waits = g_.recorded_waits;
      return std::binary_search(waits.begin(), waits.end(), c) ? no_row : handed_over(c);
    };
    return known;
  }

  void add(Silence& s) {
    if (s.ends == SilenceEnd::own_work && !s.is_no_handover) return;
    // A thread in no call is woken by another one, not by the GPU. Where launches wait for their
    // kernels both come at the same time.
    const bool woken = s.by_operation && !s.within_call && !s.is_no_handover &&
                       std::any_of(s.at.begin(), s.at.end(), [&](const Silence::At& at) {
                         return handed_over(at.call) != no_row;
                       });
    std::size_t added = 0;
    for (const Silence::At& at : s.at)
      if (!woken && holds(at.call)) added += add(s, at);
    if (added == 0) s.ends = SilenceEnd::own_work;
  }

 private:
  bool holds(Row call) const {
    return call != no_row && g_.steps.calls.holds(call) &&
           outermost_[call - g_.steps.calls.first] != 0;
  }
  // The call whose end an edge comes from.
  Row call_of(Node end) const { return g_.steps.calls.first + (end - 1) / 2; }
  // The call of another thread that host_edges.cpp supposes to have handed over, or no_row.
  Row handed_over(Row call) const {
    if (!holds(call)) return no_row;
    const Node n = g_.begin_node(call);
    return g_.recorded.has(n, edge::handover) ? call_of(g_.recorded.from[n][edge::handover])
                                              : no_row;
  }

  // The thread worked since its call before.
  void forget_handover(Row call) {
    const Node n = g_.begin_node(call);
    if (!g_.recorded.has(n, edge::handover)) return;
    g_.recorded.set(n, edge::handover, origin, absent);
    const Node from = g_.recorded.from[n][edge::previous];
    g_.recorded.weight[n][edge::previous] =
        t_.calls.start[call] - (from == origin ? 0 : t_.calls.end[call_of(from)]);
  }

  // Of one repetition. Whether it waits there, or may.
  bool add(Silence& s, const Silence::At& at) {
    const Node n = s.within_call ? g_.end_node(at.call) : g_.begin_node(at.call);
    const std::size_t place = s.within_call ? std::size_t{edge::wait} : edge::handover;
    if (s.is_no_handover && !s.within_call) forget_handover(at.call);
    if (s.ends == SilenceEnd::own_work || at.cause == no_row || at.cause_end > at.end) return false;
    if (s.by_operation ? !g_.steps.ops.holds(at.cause) : !holds(at.cause)) return false;
    const Node cause = s.by_operation ? g_.op_node(at.cause) : g_.end_node(at.cause);
    const Ns after = at.end - at.cause_end;
    const bool waited = at.cause_end > at.start;
    if (waited && std::abs(after - s.after_ns) > far_off * s.error_ns) return false;
    if (s.ends == SilenceEnd::may_wait) {
      if (!waited || g_.recorded.has(n, place) ||
          least_of_step * (s.mean_ns - s.after_ns) < g_.steps.recorded_ns)
        return false;
      g_.may_wait.push_back({n, place, cause, after});
      s.replayed_both_ways = true;
      return true;
    }
    // What the other thread launched after that comes before the hand-over, too.
    if (!s.by_operation && !s.within_call)
      if (const Row by = handed_over(at.call);
          by != no_row && t_.calls.thread[by] == t_.calls.thread[at.cause] && by >= at.cause)
        return true;
    if (!s.within_call) forget_handover(at.call);
    g_.recorded.set(n, place, cause, waited ? after : std::min(after, s.after_ns));
    if (!waited) return true;
    // Of a thread that is born, the beginning is unknown.
    Ns& own = g_.recorded.weight[n][edge::previous];
    own = g_.recorded.from[n][edge::previous] == origin ? g_.steps.window.start
                                                        : std::min(own, s.own_ns);
    return true;
  }

  ReplayGraph& g_;
  const Trace& t_;
  std::vector<std::uint8_t> outermost_;  // by call of the block
};

}  // namespace

void ReplayGraph::find_silence_edges() {
  SilenceEdges edges(*this);
  silences = find_silences(analysis.trace, edges.known());
  for (Silence& s : silences) edges.add(s);
}

std::vector<MayWait> ReplayGraph::waits_at(const std::vector<Ns>& times) const {
  std::vector<MayWait> waits;
  for (MayWait m : may_wait)
    if (m.after_ns = times[m.node] - times[m.cause]; m.after_ns >= 0) waits.push_back(m);
  return waits;
}

void ReplayGraph::wait(const std::vector<MayWait>& waits, Edges& edges) const {
  for (const MayWait& m : waits) {
    edges.set(m.node, m.place, m.cause, m.after_ns);
    edges.weight[m.node][edge::previous] =
        edges.from[m.node][edge::previous] == origin ? steps.window.start : 0;
  }
}

}  // namespace gh
