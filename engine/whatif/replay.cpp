#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"

namespace gh {
namespace {

constexpr std::size_t most_steps = 24;        // replayed: enough for a mean of steps that alternate
constexpr std::size_t most_points = 150'000;  // as far as three steps allow
constexpr double trusted_error = 0.02;
constexpr double most_unrepresentative =
    0.05;  // of the mean step: with more, what is won there says nothing about the step

// What Nsight Systems adds, measured on an H200 and an H100 as recorded steps less the same ones
// unprofiled: a pause between two kernels grows by 0.7 us. The host grows slower with every launch,
// by a multiple of what a recorded launch call lasts, part of it outside of the call: recordings
// that the host bounds show 1.1 to 5 times (H200) and 1 to 4 (H100 whose cores other processes
// shared); twice is the best guess.
constexpr Ns overhead_gap_ns = 700, least_gap_ns = 300, overhead_gap_below_ns = 20'000;
constexpr double overhead_launches[] = {2.0, 6.0,
                                        0.5};  // by Guess: the most overhead leaves the least
constexpr double least_call_fraction = 0.2;

constexpr Ns launched_ahead_ns =
    50'000;  // a launch that comes so long before its turn does not delay it
constexpr Ns handover_gap_ns = 60'000;  // a thread is silent for so long while another launches...
constexpr Ns handover_late_ns =
    2'000'000;  // ...and goes on at most so long after the other's last call
constexpr std::ptrdiff_t handover_launches = 3;
constexpr Ns clock_skew_ns =
    5'000;  // between the clocks of host and GPU, after the profiler has joined them
constexpr Ns event_wait_ns =
    20'000;  // an operation starts within so long after the one on another stream that it waits for
constexpr Ns unexplained_ns = 5'000;
constexpr Ns own_call_ns = 5'000;  // what a call that waits takes by itself
constexpr Ns waited_ns = 20'000;   // a wait that is shorter is no wait
constexpr Ns host_work_ns =
    200'000;  // what the host needs to prepare a launch; a longer pause before it is something else
constexpr Ns queue_full_ns = 100'000;       // a launch that takes longer while many operations are
                                            // queued waits for room in the queue
constexpr std::ptrdiff_t queue_full = 200;  // the driver queues about 1,000

double value_of(const Factor& f, Guess guess) {
  return guess == Guess::best ? f.by : guess == Guess::least ? f.least : f.most;
}

Ns scaled(Ns ns, double by) { return static_cast<Ns>(std::llround(static_cast<double>(ns) * by)); }

bool crosses_link(CopyKind k) {
  return k == CopyKind::h2d || k == CopyKind::d2h || k == CopyKind::p2p;
}

}  // namespace

Replay::Replay(const Analysis& analysis) : a_(analysis) {
  choose_steps();
  if (!reason_.empty()) return;
  const std::size_t nodes = 1 + 2 * static_cast<std::size_t>(calls_.count) + ops_.count;
  recorded_.from.assign(nodes, {none, none, none});
  recorded_.weight.assign(nodes, {absent, absent, absent});
  recorded_.length.assign(nodes, 0);
  add_calls(recorded_);
  add_ops(recorded_);
  add_waits(recorded_);
  sort(recorded_);
  if (!reason_.empty()) return;
  for (std::size_t i = 0; i < unprofiled_.size(); ++i)
    unprofiled_[i] = without_overhead(overhead_launches[i]);
  for (std::size_t i = 0; i < now_.size(); ++i) now_[i] = period(times(unprofiled_[i]));
  const Ns same = period(times(uniform()));
  uniform_error_ =
      std::abs(static_cast<double>(same - recorded_ns_)) / static_cast<double>(recorded_ns_);
}

bool Replay::trusted() const {
  return reason_.empty() && !collectives_ && uniform_error_ <= trusted_error &&
         unresolved_ <= trusted_error && unrepresentative_ <= trusted_error;
}

std::string Replay::distrust() const {
  if (!reason_.empty()) return reason_;
  if (uniform_error_ > trusted_error)
    return fmt::format("the replay of the steps as they are is {} off", percent(uniform_error_));
  if (unresolved_ > trusted_error)
    return fmt::format("{} of the time is spent in waits of which the trace does not tell what for",
                       percent(unresolved_));
  if (collectives_)
    return "how long collectives wait for other ranks changes with every fix, and their durations "
           "hold it";
  if (unrepresentative_ > trusted_error)
    return fmt::format("the replayed steps differ from all by {}", percent(unrepresentative_));
  return "";
}

// A run of steps that begins and ends at the same places on every device, whose mean is as near as
// can be to that of all.
void Replay::choose_steps() {
  const Trace& t = a_.trace;
  if (a_.devices.empty()) {
    reason_ = "no GPU work was recorded";
    return;
  }
  for (const DeviceSteps& d : a_.devices)
    if (d.source != StepSource::ranges && d.source != StepSource::kernels) {
      reason_ = "no steps were found";
      return;
    }
  const DeviceSteps& lead = a_.devices.front();
  const std::size_t n = lead.steps.size();
  if (n < 2) {
    reason_ = "one step alone has no beginning that is known";
    return;
  }
  if (!t.availability(Source::calls).known() || t.calls.size() == 0) {
    reason_ = "the host's CUDA calls were not recorded";
    return;
  }
  const double points =
      static_cast<double>(2 * t.calls.size() + t.ops.size()) *
      static_cast<double>(lead.steps.back().span.end - lead.steps.front().span.start) /
      static_cast<double>(std::max<Ns>(t.capture_end - t.capture_start, 1));
  const auto room = static_cast<std::size_t>(static_cast<double>(most_points) /
                                             std::max(points / static_cast<double>(n), 1.0));
  const std::size_t take = std::min({n, most_steps, std::max<std::size_t>(room, 3)});
  const auto mean_of = [&](std::size_t first) {
    return static_cast<double>(lead.steps[first + take - 1].span.end - lead.steps[first].span.end) /
           static_cast<double>(take - 1);
  };
  Ns all = 0;
  for (const Step& s : lead.steps) all += s.span.length();
  const double mean = static_cast<double>(all) / static_cast<double>(n);
  std::size_t best = 0;
  for (std::size_t first = 1; first + take <= n; ++first)
    if (std::abs(mean_of(first) - mean) < std::abs(mean_of(best) - mean)) best = first;
  // Of the first of the replayed steps only the end counts.
  unrepresentative_ = std::abs(mean_of(best) - mean) / mean;
  if (unrepresentative_ > most_unrepresentative) {
    reason_ = fmt::format("the steps that can be replayed differ from all by {}",
                          percent(unrepresentative_));
    return;
  }

  const Step &from = lead.steps[best], &to = lead.steps[best + take - 1];
  window_ = {std::min(from.host_start, from.span.start), to.span.end};
  Ns sum = 0;
  for (const DeviceSteps& d : a_.devices) {
    std::size_t first = 0, count = 0;
    for (std::size_t k = 0; k < d.steps.size(); ++k)
      if (d.steps[k].span.end >= from.span.end - from.span.length() / 2 &&
          d.steps[k].span.end <= to.span.end + to.span.length() / 2) {
        if (count++ == 0) first = k;
        window_.end = std::max(window_.end, d.steps[k].span.end);
        window_.start = std::min({window_.start, d.steps[k].host_start, d.steps[k].span.start});
      }
    if (count < 2) {
      reason_ = "the devices' steps do not match";
      return;
    }
    device_steps_.emplace_back(first, count);
    sum += (d.steps[first + count - 1].span.end - d.steps[first].span.end) /
           static_cast<Ns>(count - 1);
  }
  recorded_ns_ = sum / static_cast<Ns>(a_.devices.size());
  steps_ = take;
  if (recorded_ns_ <= 0) {
    reason_ = "the steps have no length";
    return;
  }

  const auto rows = [&](const std::vector<Ns>& start) {
    const auto first = std::lower_bound(start.begin(), start.end(), window_.start),
               last = std::lower_bound(first, start.end(), window_.end);
    return Block{static_cast<Row>(first - start.begin()), static_cast<Row>(last - first)};
  };
  ops_ = rows(t.ops.start);
  calls_ = rows(t.calls.start);
  step_of_.assign(ops_.count, -1);
  device_ops_.resize(a_.devices.size());
  std::vector<std::size_t> slot(t.devices.size(), a_.devices.size());
  for (std::size_t d = 0; d < a_.devices.size(); ++d) slot[a_.devices[d].device] = d;
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op) {
    const std::size_t d = slot[t.device_of(op)];
    if (d == a_.devices.size() || is_unified(t.ops.copy[op])) continue;
    const auto& steps = a_.devices[d].steps;
    const auto [first, count] = device_steps_[d];
    const auto in =
        std::partition_point(steps.begin(), steps.end(),
                             [&](const Step& s) { return s.span.end < t.ops.end[op]; }) -
        steps.begin() - static_cast<std::ptrdiff_t>(first);
    if (in < 0 || in >= static_cast<std::ptrdiff_t>(count) ||
        t.ops.end[op] <= steps[first + static_cast<std::size_t>(in)].span.start)
      continue;
    step_of_[op - ops_.first] = static_cast<std::int16_t>(in);
    device_ops_[d].push_back(op);
    collectives_ = collectives_ || a_.kernel_class(op) == "collective";
  }
}

// The host: calls in order, what lies between them, and who hands over to whom.
void Replay::add_calls(Graph& g) {
  const Trace& t = a_.trace;
  thread_calls_.resize(t.threads.size());
  std::vector<Ns> until(t.threads.size(), window_.start);
  std::vector<std::vector<Ns>> launches(t.threads.size());  // when each thread launched
  for (Row c = calls_.first; c < calls_.first + calls_.count; ++c) {
    const std::uint16_t thread = t.calls.thread[c];
    if (!thread_calls_[thread].empty() && t.calls.end[c] <= until[thread])
      continue;  // within another call
    until[thread] = t.calls.end[c];
    thread_calls_[thread].push_back(c);
    if (gh::launches(a_.names.call[t.calls.name[c]])) launches[thread].push_back(t.calls.start[c]);
  }
  // Who can have taken over at all: a damaged report may have a thread for each call.
  std::vector<std::uint16_t> launchers;
  for (std::uint16_t thread = 0; thread < thread_calls_.size(); ++thread)
    if (static_cast<std::ptrdiff_t>(launches[thread].size()) >= handover_launches)
      launchers.push_back(thread);
  for (std::uint16_t thread = 0; thread < thread_calls_.size(); ++thread) {
    Row before = no_row;
    for (const Row c : thread_calls_[thread]) {
      const std::uint32_t b = begin_node(c), e = end_node(c);
      const Ns start = t.calls.start[c],
               free_at = before == no_row ? window_.start : std::min(t.calls.end[before], start);
      g.from[b][previous] = before == no_row ? none : end_node(before);
      g.weight[b][previous] = before == no_row ? start : start - t.calls.end[before];
      g.from[e][begin] = b;
      g.weight[e][begin] = t.calls.end[c] - start;
      if (start - free_at >= handover_gap_ns && !launches[thread].empty()) {
        Row source = no_row;
        for (const std::uint16_t by : launchers) {
          if (by == thread || t.threads[by].process != t.threads[thread].process) continue;
          const auto from = std::lower_bound(launches[by].begin(), launches[by].end(), free_at),
                     to = std::lower_bound(from, launches[by].end(), start);
          if (to - from < handover_launches) continue;
          const auto last = std::partition_point(thread_calls_[by].begin(), thread_calls_[by].end(),
                                                 [&](Row x) { return t.calls.end[x] <= start; });
          if (last == thread_calls_[by].begin()) continue;
          const Row call = *std::prev(last);
          if (start - t.calls.end[call] < handover_late_ns &&
              (source == no_row || t.calls.end[call] > t.calls.end[source]))
            source = call;
        }
        if (source != no_row) {
          g.from[b][handover] = end_node(source);
          g.weight[b][handover] = start - t.calls.end[source];
          g.weight[b][previous] = 0;
          if (before == no_row) g.weight[b][previous] = window_.start;
        }
      }
      before = c;
    }
  }
}

// The GPU: what each operation waited for, its launch, the operation before it, or one on another
// stream.
void Replay::add_ops(Graph& g) {
  const Trace& t = a_.trace;
  stream_before_.assign(ops_.count, no_row);
  std::vector<Row> last(t.streams.size(), no_row);
  std::vector<Ns> from_idle, from_fed;
  const auto launch_of = [&](Row op) {
    return t.ops.call[op] != no_row && calls_.holds(t.ops.call[op]) ? t.ops.call[op] : no_row;
  };
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op) {
    if (is_unified(t.ops.copy[op]))
      continue;  // the driver's own, while kernels wait in their midst
    Row& before = last[t.ops.stream[op]];
    stream_before_[op - ops_.first] = before;
    if (const Row call = launch_of(op); call != no_row && before != no_row) {
      const Ns launched = t.calls.start[call], idle_from = t.ops.end[before];
      if (launched > idle_from)
        from_idle.push_back(t.ops.start[op] - launched);
      else if (launched + launched_ahead_ns < idle_from)
        from_fed.push_back(t.ops.start[op] - idle_from);
    }
    before = op;
  }
  if (!from_idle.empty()) {
    const auto quartile = from_idle.begin() + static_cast<std::ptrdiff_t>(from_idle.size() / 4);
    std::nth_element(from_idle.begin(), quartile, from_idle.end());
    launch_ns_ = *quartile;
  }
  gap_ns_ = std::max<Ns>(median(std::move(from_fed)), 0);

  // By device, when what ended: operations of other streams that one may have waited for.
  std::vector<std::vector<std::pair<Ns, Row>>> ended(t.devices.size());
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op)
    if (!is_unified(t.ops.copy[op])) ended[t.device_of(op)].emplace_back(t.ops.end[op], op);
  for (auto& list : ended) std::sort(list.begin(), list.end());

  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op) {
    const std::uint32_t node = op_node(op);
    const Ns start = t.ops.start[op];
    g.length[node] = t.ops.end[op] - start;
    const Row call = launch_of(op), before = stream_before_[op - ops_.first];
    if (is_unified(t.ops.copy[op]) || (call == no_row && before == no_row)) {
      g.weight[node][launch] = start;
      continue;
    }
    const Ns lat = call == no_row ? absent : start - t.calls.start[call],
             gap = before == no_row ? absent : start - t.ops.end[before];
    if (call != no_row) g.from[node][launch] = begin_node(call);
    if (before != no_row) g.from[node][stream] = op_node(before);
    const Ns late = lat - launch_ns_,
             idle = gap - gap_ns_;  // what launch and stream leave unexplained
    if (call != no_row && before != no_row && late > unexplained_ns && idle > unexplained_ns) {
      const auto& list = ended[t.device_of(op)];
      for (auto it = std::lower_bound(list.begin(), list.end(), std::pair(start, no_row));
           it != list.begin();) {
        --it;
        if (start - it->first > event_wait_ns) break;
        if (t.ops.stream[it->second] == t.ops.stream[op] || it->second >= op) continue;
        g.from[node][other] = op_node(it->second);
        g.weight[node][other] = start - it->first;
        break;
      }
    }
    const bool event = g.weight[node][other] != absent;
    const bool by_launch = !event && call != no_row && (before == no_row || late <= idle);
    const bool by_stream = !event && !by_launch;
    if (call != no_row) g.weight[node][launch] = by_launch ? lat : std::min(launch_ns_, lat);
    if (before != no_row) g.weight[node][stream] = by_stream ? gap : std::min(gap_ns_, gap);
    // What had been queued before the first replayed step holds its first operations up.
    if (before == no_row && call != no_row) g.weight[node][stream] = start;
  }
}

// Calls that do not return before the GPU has done something.
void Replay::add_waits(Graph& g) {
  const Trace& t = a_.trace;
  std::vector<std::vector<Row>> by_stream(t.streams.size());
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op)
    if (!is_unified(t.ops.copy[op])) by_stream[t.ops.stream[op]].push_back(op);
  std::vector<std::vector<std::uint32_t>> streams(t.processes.size());
  for (std::uint32_t s = 0; s < t.streams.size(); ++s)
    if (!by_stream[s].empty()) streams[t.streams[s].process].push_back(s);
  std::vector<Row> own(calls_.count, no_row);  // what a call launched
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op)
    if (const Row c = t.ops.call[op]; c != no_row && calls_.holds(c)) own[c - calls_.first] = op;
  std::vector<std::uint32_t> waits_for(calls_.count, std::numeric_limits<std::uint32_t>::max());
  for (Row s = 0; s < t.syncs.size(); ++s)
    if (const Row c = t.syncs.call[s]; c != no_row && calls_.holds(c))
      waits_for[c - calls_.first] = t.syncs.stream[s];
  const auto launched = [&](Row op) {
    return t.ops.call[op] == no_row ? t.ops.start[op] : t.calls.start[t.ops.call[op]];
  };
  // Of a stream, the last operation that had been launched before a call and was over when it
  // ended; `all`: no other had been launched.
  const auto last_done = [&](std::uint32_t stream, Row call, bool all) {
    const std::vector<Row>& ops = by_stream[stream];
    auto it = std::partition_point(ops.begin(), ops.end(), [&](Row op) {
      return t.ops.end[op] <= t.calls.end[call] + clock_skew_ns;
    });
    if (all && it != ops.end() && launched(*it) < t.calls.start[call]) return no_row;
    while (it != ops.begin())
      if (const Row op = *--it; launched(op) < t.calls.start[call]) return op;
    return no_row;
  };

  std::vector<Ns> wakes;
  Ns unresolved = 0;
  for (const auto& calls : thread_calls_)
    for (const Row c : calls) {
      const CallClass kind = a_.names.call[t.calls.name[c]];
      const Ns start = t.calls.start[c], end = t.calls.end[c], took = end - start;
      const std::uint16_t process = t.threads[t.calls.thread[c]].process;
      Row target = no_row;
      bool blocks = false;
      if (kind == CallClass::sync || kind == CallClass::allocation) {
        blocks = kind == CallClass::sync;
        const std::string& name = t.names[t.calls.name[c]];
        const bool event = name.find("Event") != name.npos,
                   one = name.find("Stream") != name.npos &&
                         waits_for[c - calls_.first] < t.streams.size();
        const auto consider = [&](std::uint32_t s) {
          const Row op = last_done(s, c, !event);
          if (op != no_row && (target == no_row || t.ops.end[op] > t.ops.end[target])) target = op;
          return op != no_row;
        };
        // By process and id: which device a wait is for is counted by the process in some reports,
        // by the host in others.
        if (one) {
          for (const std::uint32_t s : streams[process])
            if (t.streams[s].id == t.streams[waits_for[c - calls_.first]].id) consider(s);
        } else
          for (const std::uint32_t s : streams[process])
            if (!consider(s) && kind == CallClass::allocation && !by_stream[s].empty() &&
                launched(by_stream[s].front()) < start) {
              target = no_row;
              break;
            }
      } else if (kind == CallClass::copy || kind == CallClass::copy_sync) {
        const Row op = own[c - calls_.first];
        // The last piece of a copy from pageable memory may still be on its way when the call
        // returns.
        const bool pageable =
            op != no_row && took > waited_ns && t.ops.start[op] < end &&
            (t.ops.source[op] == MemoryKind::pageable || t.ops.target[op] == MemoryKind::pageable);
        if (op != no_row && (pageable || (t.ops.end[op] <= end + clock_skew_ns &&
                                          (kind == CallClass::copy_sync || took > waited_ns)))) {
          target = op;
          blocks = true;
        }
      } else if (launches(kind) && took >= queue_full_ns && own[c - calls_.first] != no_row) {
        const std::vector<Row>& ops = by_stream[t.ops.stream[own[c - calls_.first]]];
        const auto now = std::lower_bound(ops.begin(), ops.end(), own[c - calls_.first]);
        const auto done =
            std::partition_point(ops.begin(), now, [&](Row op) { return t.ops.end[op] <= end; });
        if (done != ops.begin() && now - done >= queue_full && t.ops.end[*std::prev(done)] > start)
          target = *std::prev(done);
      }
      const Ns over = target == no_row ? 0 : t.ops.end[target];
      if (target == no_row || over <= start) {
        if (blocks && took >= waited_ns && start > window_.start + recorded_ns_ / 2)
          unresolved += target == no_row ? took : 0;
        if (target != no_row && kind == CallClass::sync) {
          g.from[end_node(c)][wait] = op_node(target);
          g.weight[end_node(c)][wait] = 0;
        }
        continue;
      }
      const std::uint32_t e = end_node(c);
      const Ns wake = end - over;
      g.from[e][wait] = op_node(target);
      g.weight[e][wait] = wake;
      g.weight[e][begin] =
          std::clamp<Ns>(kind == CallClass::allocation ? took - (over - start) : wake, 0,
                         kind == CallClass::allocation ? took : std::min(took, own_call_ns));
      if (kind == CallClass::sync) wakes.push_back(wake);
    }
  wake_ns_ = median(std::move(wakes));
  unresolved_ = static_cast<double>(unresolved) / static_cast<double>(window_.length());
}

// Every node after those that it waits for. Nodes come nearly in order of time, so the stack stays
// shallow.
void Replay::sort(const Graph& g) {
  const Trace& t = a_.trace;
  std::vector<std::pair<Ns, std::uint32_t>> by_time;
  by_time.reserve(g.from.size());
  for (Row c = calls_.first; c < calls_.first + calls_.count; ++c) {
    by_time.emplace_back(t.calls.start[c], begin_node(c));
    by_time.emplace_back(t.calls.end[c], end_node(c));
  }
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op)
    by_time.emplace_back(t.ops.start[op], op_node(op));
  std::sort(by_time.begin(), by_time.end());
  enum : std::uint8_t { unseen, open, done };
  std::vector<std::uint8_t> state(g.from.size(), unseen);
  state[none] = done;
  std::vector<std::uint32_t> stack;
  for (const auto& [time, first] : by_time) {
    stack.push_back(first);
    while (!stack.empty()) {
      const std::uint32_t n = stack.back();
      if (state[n] == unseen) {
        state[n] = open;
        for (std::size_t i = 0; i < 3; ++i)
          if (g.weight[n][i] != absent && state[g.from[n][i]] != done) {
            if (state[g.from[n][i]] == open) {
              reason_ =
                  "what waits for what cannot be told: the clocks of host and GPU contradict each "
                  "other";
              return;
            }
            stack.push_back(g.from[n][i]);
          }
      } else {
        if (state[n] == open) {
          state[n] = done;
          order_.push_back(n);
        }
        stack.pop_back();
      }
    }
  }
}

// Every operation and every wait with the usual weights.
Replay::Graph Replay::uniform() const {
  Graph g = recorded_;
  const std::uint32_t first = op_node(ops_.first);
  for (std::uint32_t n = first; n < g.from.size(); ++n) {
    if (g.from[n][launch] != none) g.weight[n][launch] = launch_ns_;
    if (g.from[n][stream] != none) g.weight[n][stream] = gap_ns_;
    if (g.weight[n][other] != absent) g.weight[n][other] = std::min(g.weight[n][other], launch_ns_);
  }
  for (const auto& calls : thread_calls_)
    for (const Row c : calls)
      if (g.weight[end_node(c)][wait] != absent &&
          a_.names.call[a_.trace.calls.name[c]] == CallClass::sync)
        g.weight[end_node(c)][wait] = wake_ns_;
  return g;
}

Replay::Graph Replay::without_overhead(double launches_worth) const {
  const Trace& t = a_.trace;
  std::vector<Ns> launch_calls;
  for (const auto& calls : thread_calls_)
    for (const Row c : calls)
      if (a_.names.call[t.calls.name[c]] == CallClass::launch)
        launch_calls.push_back(t.calls.end[c] - t.calls.start[c]);
  const Ns overhead = scaled(median(std::move(launch_calls)), launches_worth);
  Graph g = recorded_;
  for (const auto& calls : thread_calls_) {
    Ns outside = 0;  // of the call before: what it cannot have cost within
    for (const Row c : calls) {
      const std::uint32_t b = begin_node(c);
      if (g.from[b][previous] != none && g.weight[b][handover] == absent)
        g.weight[b][previous] -= std::min(outside, g.weight[b][previous] / 2);
      Ns& took = g.weight[end_node(c)][begin];
      const Ns left = std::max(scaled(took, least_call_fraction), took - overhead);
      outside =
          launches(a_.names.call[t.calls.name[c]]) ? std::max<Ns>(0, overhead - (took - left)) : 0;
      took = left;
    }
  }
  const std::uint32_t first = op_node(ops_.first);
  for (std::uint32_t n = first; n < g.from.size(); ++n)
    if (g.from[n][stream] != none && g.weight[n][stream] < overhead_gap_below_ns)
      g.weight[n][stream] = std::max(std::min(least_gap_ns, g.weight[n][stream]),
                                     g.weight[n][stream] - overhead_gap_ns);
  return g;
}

void Replay::apply(const Change& change, Guess guess, Graph& g) const {
  const Trace& t = a_.trace;
  const double by = value_of(change.factor, guess);
  const auto forget_call = [&](Row c) {
    const std::uint32_t b = begin_node(c), e = end_node(c);
    g.weight[e][begin] = 0;
    g.weight[e][wait] = absent;
    if (g.from[b][previous] != none && g.weight[b][previous] <= host_work_ns)
      g.weight[b][previous] = 0;
  };
  const auto forget_launch = [&](Row op) {
    if (const Row c = t.ops.call[op]; c != no_row && calls_.holds(c)) forget_call(c);
    if (g.from[op_node(op)][launch] != none) g.weight[op_node(op)][launch] = absent;
  };
  const auto forget_op = [&](Row op) {
    forget_launch(op);
    const std::uint32_t n = op_node(op);
    g.length[n] = 0;
    g.weight[n][other] = absent;
    if (g.from[n][stream] != none) g.weight[n][stream] = 0;
  };
  switch (change.kind) {
    case Change::Kind::remove:
      for (const Row op : change.rows)
        if (ops_.holds(op)) forget_op(op);
      break;
    case Change::Kind::scale:
      for (const Row op : change.rows)
        if (ops_.holds(op)) {
          Ns& length = g.length[op_node(
              op)];  // two fixes of one operation do not multiply: each says what it takes then
          length = by > 1 ? scaled(length, by)
                          : std::min(length, scaled(recorded_.length[op_node(op)], by));
        }
      break;
    case Change::Kind::shorten:
      for (std::size_t i = 0; i < change.rows.size(); ++i)
        if (ops_.holds(change.rows[i]))
          g.length[op_node(change.rows[i])] =
              std::max<Ns>(0, g.length[op_node(change.rows[i])] - change.cut_ns[i]);
      break;
    case Change::Kind::fuse: {
      std::vector<std::uint32_t> head(ops_.count, 0);   // of an operation's run, its first node
      std::map<std::uint32_t, std::pair<Ns, Ns>> runs;  // by first node: longest, sum
      std::vector<Row> rows = change.rows;
      std::sort(rows.begin(), rows.end());
      for (const Row op : rows) {
        if (!ops_.holds(op)) continue;
        const Row before = stream_before_[op - ops_.first];
        const bool goes_on = before != no_row && head[before - ops_.first] &&
                             step_of_[before - ops_.first] == step_of_[op - ops_.first];
        const std::uint32_t first = goes_on ? head[before - ops_.first] : op_node(op);
        head[op - ops_.first] = first;
        auto& [longest, sum] = runs[first];
        longest = std::max(longest, g.length[op_node(op)]);
        sum += g.length[op_node(op)];
        if (first != op_node(op)) forget_op(op);
      }
      for (const auto& [node, run] : runs)
        g.length[node] = std::min(scaled(run.first, by), run.second);
      break;
    }
    case Change::Kind::graph:
      for (const Row op : change.rows) {
        if (!ops_.holds(op)) continue;
        forget_launch(op);
        const std::uint32_t n = op_node(op);
        if (g.from[n][stream] != none) g.weight[n][stream] = change.gap_ns;
      }
      break;
    case Change::Kind::overlap: {
      std::vector<std::uint8_t> moved(g.from.size());
      for (const Row op : change.rows)
        if (ops_.holds(op)) moved[op_node(op)] = 1;
      std::vector<std::uint32_t> here(t.streams.size(), none), aside(t.streams.size(), none);
      for (Row op = ops_.first; op < ops_.first + ops_.count; ++op) {
        if (is_unified(t.ops.copy[op])) continue;
        const std::uint32_t n = op_node(op);
        auto& before = (moved[n] ? aside : here)[t.ops.stream[op]];
        if (g.from[n][stream] != none) {
          g.from[n][stream] = before;
          g.weight[n][stream] = before == none ? absent : std::min(g.weight[n][stream], gap_ns_);
        }
        if (g.weight[n][other] != absent && (moved[n] || moved[g.from[n][other]]))
          g.weight[n][other] = absent;
        before = n;
      }
      for (const auto& calls : thread_calls_)
        for (const Row c : calls)
          if (g.weight[end_node(c)][wait] != absent && moved[g.from[end_node(c)][wait]])
            g.weight[end_node(c)][wait] = absent;
      break;
    }
    case Change::Kind::unblock:
      for (const Row c : change.rows)
        if (calls_.holds(c)) g.weight[end_node(c)][wait] = absent;
      break;
    case Change::Kind::drop:
      for (const Row c : change.rows)
        if (calls_.holds(c)) forget_call(c);
      break;
    case Change::Kind::pause: {
      struct Host {
        std::vector<Span> parts, whole;
      };
      Host any;  // of whichever thread
      std::map<std::uint16_t, Host> by_thread;
      for (const HostSpan& h : change.host) {
        Host& host = h.thread == no_index ? any : by_thread[h.thread];
        (h.whole ? host.whole : host.parts).push_back(h.span);
      }
      any = {united(std::move(any.parts)), united(std::move(any.whole))};
      for (std::uint16_t thread = 0; thread < thread_calls_.size(); ++thread) {
        const auto of_thread = by_thread.find(thread);
        if (of_thread != by_thread.end()) {
          Host& own = of_thread->second;
          own.parts.insert(own.parts.end(), any.parts.begin(), any.parts.end());
          own.whole.insert(own.whole.end(), any.whole.begin(), any.whole.end());
          own = {united(std::move(own.parts)), united(std::move(own.whole))};
        }
        const Spans &parts = of_thread == by_thread.end() ? any.parts : of_thread->second.parts,
                    &whole = of_thread == by_thread.end() ? any.whole : of_thread->second.whole;
        if (parts.empty() && whole.empty()) continue;
        for (const Row c : thread_calls_[thread]) {
          const std::uint32_t b = begin_node(c);
          const std::size_t slot = g.weight[b][handover] != absent ? handover : previous;
          if (g.from[b][slot] == none || g.weight[b][slot] <= 0) continue;
          // The host's work since its last call, or since the thread that it waited for was done.
          const Span own{t.calls.start[c] - recorded_.weight[b][slot], t.calls.start[c]};
          const Ns cut = overlap(whole, own) > 0 ? own.length() : overlap(parts, own);
          g.weight[b][slot] = std::max<Ns>(0, g.weight[b][slot] - scaled(cut, 1 - by));
        }
      }
      break;
    }
  }
}

std::vector<Ns> Replay::times(const Graph& g) const {
  std::vector<Ns> at(g.from.size(), 0);
  for (const std::uint32_t n : order_) {
    const auto& from = g.from[n];
    const auto& weight = g.weight[n];
    at[n] = std::max({at[from[0]] + weight[0], at[from[1]] + weight[1], at[from[2]] + weight[2],
                      window_.start}) +
            g.length[n];
  }
  return at;
}

Ns Replay::period(const std::vector<Ns>& at) const {
  Ns sum = 0;
  for (std::size_t d = 0; d < device_steps_.size(); ++d) {
    Ns first = absent, last = absent;
    for (const Row op : device_ops_[d]) {
      const Ns end = at[op_node(op)];
      if (step_of_[op - ops_.first] == 0) first = std::max(first, end);
      last = std::max(last, end);
    }
    sum += (last - first) / static_cast<Ns>(device_steps_[d].second - 1);
  }
  return sum / static_cast<Ns>(device_steps_.size());
}

Replay::Graph Replay::changed(const Changes& changes, Guess guess) const {
  Graph g = unprofiled_[static_cast<std::size_t>(guess)];
  for (const Change& c : changes) apply(c, guess, g);
  return g;
}

void Replay::trim(Changes& changes) const {
  for (Change& c : changes) {
    const Block& block =
        c.kind == Change::Kind::unblock || c.kind == Change::Kind::drop ? calls_ : ops_;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      if (!block.holds(c.rows[i])) continue;
      if (!c.cut_ns.empty()) c.cut_ns[kept] = c.cut_ns[i];
      c.rows[kept++] = c.rows[i];
    }
    c.rows.resize(kept);
    c.rows.shrink_to_fit();
    if (!c.cut_ns.empty()) {
      c.cut_ns.resize(kept);
      c.cut_ns.shrink_to_fit();
    }
    std::erase_if(c.host, [&](const HostSpan& h) {
      return h.span.end <= window_.start || h.span.start >= window_.end;
    });
    c.host.shrink_to_fit();
  }
}

Ns Replay::step_ns(const Changes& changes, Guess guess) const {
  return changes.empty() ? now_[static_cast<std::size_t>(guess)]
                         : period(times(changed(changes, guess)));
}

Ns Replay::profiled_step_ns(const Changes& changes) const {
  Graph g = recorded_;
  for (const Change& c : changes) apply(c, Guess::best, g);
  return period(times(g));
}

Replay::Bounds Replay::bounds(const Changes& changes) const {
  const Trace& t = a_.trace;
  Graph g = changed(changes, Guess::best);
  Bounds b;
  std::map<std::uint32_t, Ns> compute, link;
  std::int64_t steps = 0;
  for (const auto& [first, count] : device_steps_) steps += static_cast<std::int64_t>(count - 1);
  Ns products = 0;
  for (Row op = ops_.first; op < ops_.first + ops_.count; ++op) {
    if (step_of_[op - ops_.first] < 1) continue;  // the first step is where the period begins
    const Ns ns = g.length[op_node(op)];
    if (t.ops.kind[op] == OpKind::kernel || t.ops.kind[op] == OpKind::graph)
      compute[t.ops.stream[op]] += ns;
    if (crosses_link(t.ops.copy[op])) link[static_cast<std::uint32_t>(t.ops.copy[op])] += ns;
    const std::string& kind = a_.kernel_class(op);
    if (kind.starts_with("gemm_") || kind == "attention_fused") products += ns;
  }
  const auto most = [&](const auto& sums) {
    Ns m = 0;
    for (const auto& [key, ns] : sums) m = std::max(m, ns);
    return m;
  };
  b.products_ns = products / steps;
  b.compute_ns = most(compute) * static_cast<Ns>(device_steps_.size()) / steps;
  b.link_ns = most(link) / steps;
  std::fill(g.length.begin(), g.length.end(), 0);
  b.host_ns = period(times(g));
  return b;
}

}  // namespace gh
