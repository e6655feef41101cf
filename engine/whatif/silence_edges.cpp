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

// Whether host_edges.cpp supposed that another thread handed over at its end.
bool is_handed_over(const ReplayGraph& g, const Silence& s) {
  return std::any_of(s.at.begin(), s.at.end(), [&](const Silence::At& at) {
    return at.call != no_row && g.steps.calls.holds(at.call) &&
           g.recorded.has(g.begin_node(at.call), edge::handover);
  });
}

}  // namespace

void ReplayGraph::find_silence_edges() {
  const Trace& t = analysis.trace;
  std::vector<std::uint8_t> outermost(steps.calls.count);
  for (const auto& calls : thread_calls)
    for (const Row c : calls) outermost[c - steps.calls.first] = 1;
  const auto holds = [&](Row call) {
    return call != no_row && steps.calls.holds(call) && outermost[call - steps.calls.first];
  };
  KnownOfSilences known;
  known.begins = begins_of(*this);
  known.clock_error_ns = clock_error_of(*this);
  known.waits = [&](Row c) { return holds(c) && recorded.has(end_node(c), edge::wait); };
  known.handed_over = [&](Row c) {
    // What was recorded as a wait in the system is no work.
    return holds(c) && recorded.has(begin_node(c), edge::handover) &&
                   !std::binary_search(recorded_waits.begin(), recorded_waits.end(), c)
               ? steps.calls.first + (recorded.from[begin_node(c)][edge::handover] - 1) / 2
               : no_row;
  };
  // The thread worked since its call before.
  const auto forget_handover = [&](Row call, Node n, std::size_t place) {
    if (!recorded.has(n, place) || place != edge::handover) return;
    recorded.set(n, place, origin, absent);
    const Node from = recorded.from[n][edge::previous];
    recorded.weight[n][edge::previous] =
        t.calls.start[call] -
        (from == origin ? 0 : t.calls.end[steps.calls.first + (from - 1) / 2]);
  };
  silences = find_silences(t, known);
  for (Silence& s : silences) {
    if (s.ends == SilenceEnd::own_work && !s.is_no_handover) continue;
    // A thread in no call is woken by another one, not by the GPU. Where launches wait for their
    // kernels both come at the same time.
    if (s.by_operation && !s.within_call && !s.is_no_handover && is_handed_over(*this, s)) {
      s.ends = SilenceEnd::own_work;
      continue;
    }
    for (const Silence::At& at : s.at) {
      if (!holds(at.call)) continue;
      const Node n = s.within_call ? end_node(at.call) : begin_node(at.call);
      const std::size_t place = s.within_call ? std::size_t{edge::wait} : edge::handover;
      if (s.is_no_handover) forget_handover(at.call, n, place);
      if (s.ends == SilenceEnd::own_work || at.cause == no_row || at.cause_end > at.end) continue;
      if (s.by_operation ? !steps.ops.holds(at.cause) : !holds(at.cause)) continue;
      const Node cause = s.by_operation ? op_node(at.cause) : end_node(at.cause);
      const Ns after = at.end - at.cause_end;
      const bool waited = at.cause_end > at.start;
      if (waited && std::abs(after - s.after_ns) > far_off * s.error_ns) continue;
      if (s.ends == SilenceEnd::may_wait) {
        if (!waited || recorded.has(n, place) ||
            least_of_step * (s.mean_ns - s.after_ns) < steps.recorded_ns)
          continue;
        may_wait.push_back({n, place, cause, after});
        s.replayed_both_ways = true;
        continue;
      }
      // What the other thread launched after that comes before the hand-over, too.
      if (!s.by_operation && place == edge::handover && recorded.has(n, place)) {
        const Row by = steps.calls.first + (recorded.from[n][place] - 1) / 2;
        if (t.calls.thread[by] == t.calls.thread[at.cause] && by >= at.cause) continue;
      }
      forget_handover(at.call, n, place);
      recorded.set(n, place, cause, waited ? after : std::min(after, s.after_ns));
      if (!waited) continue;
      // Of a thread that is born, the beginning is unknown.
      Ns& own = recorded.weight[n][edge::previous];
      own =
          recorded.from[n][edge::previous] == origin ? steps.window.start : std::min(own, s.own_ns);
    }
  }
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
