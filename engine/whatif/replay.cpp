#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "analysis/causes.hpp"
#include "base/deadline.hpp"
#include "base/text.hpp"
#include "whatif/apply.hpp"
#include "whatif/graph.hpp"
#include "whatif/overhead.hpp"

namespace gh {
namespace {

constexpr double trusted_error = 0.02;
// Relative to the measured step: how much recording may have added beyond what launches explain.
// With more, a forecast would be a guess rather than a replay. Recordings of page faults show up to
// 0.3.
constexpr double most_unexplained = 1.0 / 3;

// Silences are told that hold at least a step divided by this.
constexpr double least_silence_of_step = 100;

double ratio(Ns a, Ns b) { return static_cast<double>(a) / static_cast<double>(b); }

// Every operation and every wait with the usual weights.
Edges uniform(const ReplayGraph& g) {
  Edges edges = g.recorded;
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    const Node n = g.start_node(op);
    auto& weight = edges.weight[n];
    if (const Node launch = edges.from[n][edge::launch]; launch != origin)
      weight[edge::launch] = launch == g.begin_node(g.launch_of(op)) ? g.launch_ns : 0;
    if (edges.from[n][edge::stream] != origin) weight[edge::stream] = g.gap_ns;
    if (edges.has(n, edge::other_stream))
      weight[edge::other_stream] = std::min(weight[edge::other_stream], g.launch_ns);
  }
  for (const auto& calls : g.thread_calls)
    for (const Row c : calls)
      if (const Node end = g.end_node(c);
          edges.has(end, edge::wait) && g.call_class(c) == CallClass::sync)
        edges.weight[end][edge::wait] = g.wake_ns;
  return edges;
}

// Whether a change lets kernels overlap with others: these then hide behind the busiest stream.
bool moves_kernels(const Trace& t, const Changes& changes) {
  return std::any_of(changes.begin(), changes.end(), [&](const Change& c) {
    const auto* overlap = std::get_if<change::Overlap>(&c);
    return overlap && std::any_of(overlap->ops.begin(), overlap->ops.end(),
                                  [&](Row op) { return t.ops.kind[op] == OpKind::kernel; });
  });
}

// How much room the device has for kernels that changes move beside others is unknown.
Guess room_for(const ReplayGraph& g, const Changes& changes, Guess guess) {
  return moves_kernels(g.analysis.trace, changes) ? Guess::least : guess;
}

// No step is shorter than the time for which the device, the link or the host is busy, whatever
// waits for what. The replayed steps may use up a lead that the host had when they began, which
// does not last: only Guess::least assumes that it does. `now`, the step without changes, limits
// what that adds. `busier`: how much longer kernels run in all steps than in the replayed ones.
Ns step_with(const ReplayGraph& g, const Floors& floors, Edges edges, const Changes& changes,
             Guess guess, Guess of_changes, Ns now, double busier) {
  for (const Change& c : changes) apply(g, c, of_changes, edges);
  const Bounds b = floors.of_device(edges, room_for(g, changes, guess));
  const Ns step = std::max({g.step_ns(g.times(edges)), scaled(b.compute_ns, busier), b.link_ns});
  if (guess == Guess::least) return step;
  return std::max(step, std::min(now, floors.of_host(std::move(edges))));
}

// One run of steps, ready to be replayed.
struct ReplayedRun {
  const ReplayedSteps steps;
  std::optional<const ReplayGraph> graph;
  std::optional<const Floors> floors;
  std::string reason;
  // By Guess and node: the weight of the edge that a profiler lengthens (slowed_edge). Storing all
  // edges would take five times the memory.
  std::array<std::vector<Ns>, guesses> unprofiled;
  LaunchesWorth worth{};
  std::array<Ns, guesses> now{};  // by Guess: the step with no change
  std::vector<MayWait> waits;     // what threads may wait for, with the overhead of Guess::least
  Ns uniform_error_ns = 0;
  Ns target_ns = 0;       // this run's step without a profiler; 0 if nobody measured it
  Ns unexplained_ns = 0;  // now[best] minus target_ns, beyond noise
  // By cause, the mean step over all devices: as recorded, and without what the profiler added.
  OfCauses recorded_ns, left_ns;
  Path path;

  ReplayedRun(const Analysis& analysis, ReplayedSteps chosen)
      : steps(std::move(chosen)), reason(steps.reason) {
    if (!reason.empty()) return;
    graph.emplace(analysis, steps);
    reason = graph->reason;
    if (!reason.empty()) return;
    floors.emplace(*graph);
    if (const Ns measured = analysis.measured_step_ns(); measured > 0)
      target_ns =
          std::max<Ns>(1, scaled(measured, ratio(steps.recorded_ns, analysis.recorded_step_ns())));
    worth = target_ns > 0 ? known_overhead(*graph, target_ns) : guessed_overhead();
    for (std::size_t i = 0; i < worth.size(); ++i) {
      const Edges edges = without_overhead(*graph, worth[i]);
      const std::vector<Ns> times = graph->times(edges);
      now[i] = graph->step_ns(times);
      if (i == index_of(Guess::best)) account_for(edges, times);
      if (i == index_of(Guess::least)) waits = graph->waits_at(times);
      unprofiled[i].resize(edges.weight.size());
      for (Node n = 0; n < edges.weight.size(); ++n)
        unprofiled[i][n] = edges.weight[n][slowed_edge(n)];
    }
    // A run that is a little slower than the recorded one is slower throughout.
    if (const Ns off = now[index_of(Guess::best)] - target_ns;
        target_ns > 0 &&
        (off > scaled(target_ns, measured_noise) || off < -scaled(steps.recorded_ns, run_to_run)))
      unexplained_ns = off;
    uniform_error_ns = std::abs(graph->step_ns(graph->times(uniform(*graph))) - steps.recorded_ns);
    path = find_path(*graph);
  }

  Ns step_ns(const Changes& changes, Guess guess, Guess of_changes, double busier) const {
    check_time();
    if (changes.empty()) return target_ns > 0 ? target_ns : now[index_of(guess)];
    const auto step = [&](Edges edges) {
      return step_with(*graph, *floors, std::move(edges), changes, guess, of_changes,
                       now[index_of(guess)], busier);
    };
    Ns replayed = step(without_profiler(guess));
    // At least, silent threads wait for what may end sooner.
    if (guess == Guess::least && of_changes == Guess::least && !waits.empty()) {
      Edges edges = without_profiler(guess);
      graph->wait(waits, edges);
      replayed = std::min(replayed, step(std::move(edges)));
    }
    return as_measured(replayed, changes, guess, busier);
  }

  // What each node waits for after these changes.
  Edges changed(const Changes& changes) const {
    Edges edges = without_profiler(Guess::best);
    for (const Change& c : changes) apply(*graph, c, Guess::best, edges);
    return edges;
  }

  Bounds bounds(const Changes& changes) const {
    Edges edges = changed(changes);
    Bounds b = floors->of_device(edges, room_for(*graph, changes, Guess::best));
    b.host_ns = floors->of_host(std::move(edges));
    // In proportion to the known step, like a replayed step.
    if (const Ns replayed = now[index_of(Guess::best)]; target_ns > 0 && target_ns < replayed)
      b.host_ns = scaled(b.host_ns, ratio(target_ns, replayed));
    return b;
  }

 private:
  // Finds out what the recorded time of each cause becomes with these edges. That of work is told
  // by where the replay puts it; idle time is what remains, by causes as the pauses between the
  // operations around them.
  void account_for(const Edges& edges, const std::vector<Ns>& times) {
    const Analysis& a = graph->analysis;
    const Causes causes(a.trace, a.classes, a.names);
    const std::vector<Span> replayed = graph->measured(times);
    recorded_ns.assign(causes.count(), 0);
    left_ns.assign(causes.count(), 0);
    for (std::size_t d = 0; d < replayed.size(); ++d) {
      const Span was = steps.measured[d], is = replayed[d];
      const Moments moments = moments_of(d, was, is, edges, times);
      std::vector<BusySpan> recorded, left;
      each_busy_span(a.trace, causes, a.devices[d], was, [&](BusySpan work, Row op) {
        recorded.push_back(work);
        // Pages move when something touches them; what began before the replay ends as it did.
        work.span = op != no_row && steps.ops.holds(op) && !is_unified(a.trace.ops.copy[op])
                        ? Span{graph->start_of(op, edges, times), times[graph->op_node(op)]}
                        : moments.at(work.span);
        left.push_back(work);
      });
      const std::vector<Ns> work_was = time_by_cause(std::move(recorded), was, causes.count()),
                            work_is = time_by_cause(std::move(left), is, causes.count());
      std::array<double, idle_causes> idle_was{}, idle_is{};
      for (const Idle& idle : a.account.devices[d].idle) {
        const Span span{std::max(idle.span.start, was.start), std::min(idle.span.end, was.end)};
        if (span.end <= span.start) continue;
        const auto cause = static_cast<std::size_t>(idle.cause);
        idle_was[cause] += static_cast<double>(span.length());
        idle_is[cause] += static_cast<double>(moments.at(span).length());
      }
      const auto sum = [](const auto& of) { return std::accumulate(of.begin(), of.end(), 0.0); };
      if (sum(idle_is) == 0) idle_is = idle_was;
      const double idle_ns = static_cast<double>(is.length()) - sum(work_is),
                   scale = sum(idle_is) > 0 ? idle_ns / sum(idle_is) : 0,
                   a_step = steps.scale / static_cast<double>(steps.periods(d)) /
                            static_cast<double>(replayed.size());
      for (std::size_t c = 0; c < causes.count(); ++c) {
        recorded_ns[c] += a_step * static_cast<double>(work_was[c]);
        left_ns[c] += a_step * static_cast<double>(work_is[c]);
      }
      for (std::size_t c = 0; c < idle_causes; ++c) {
        recorded_ns[causes.of(static_cast<IdleCause>(c))] += a_step * idle_was[c];
        left_ns[causes.of(static_cast<IdleCause>(c))] += a_step * scale * idle_is[c];
      }
    }
  }

  // What the recorded moments of a device's measured time become.
  Moments moments_of(std::size_t device, Span was, Span is, const Edges& edges,
                     const std::vector<Ns>& times) const {
    const Trace& t = graph->analysis.trace;
    Moments moments;
    const auto add = [&](Ns from, Ns to) {
      if (from >= was.start && from <= was.end) moments.add(from, std::clamp(to, is.start, is.end));
    };
    add(was.start, is.start);
    add(was.end, is.end);
    for (const Row op : steps.device_ops[device]) {
      add(t.ops.start[op], graph->start_of(op, edges, times));
      add(t.ops.end[op], times[graph->op_node(op)]);
    }
    moments.sort();
    return moments;
  }

  // For a call the host's time before or in it, for an operation the pause on its stream.
  std::size_t slowed_edge(Node n) const {
    static_assert(edge::previous == 0 && edge::begin == 0);
    return n < graph->first_op_node() ? std::size_t{edge::previous} : edge::stream;
  }
  Edges without_profiler(Guess guess) const {
    Edges edges = graph->recorded;
    const std::vector<Ns>& weights = unprofiled[index_of(guess)];
    for (Node n = 0; n < weights.size(); ++n) edges.weight[n][slowed_edge(n)] = weights[n];
    speed_up_copies(*graph, worth[index_of(guess)], edges);
    return edges;
  }

  // Scales a replayed step in proportion to the known step of today. Of time that nothing explains,
  // all or none may be part of what the changes leave; but no profiler makes kernels or copies
  // longer.
  Ns as_measured(Ns replayed, const Changes& changes, Guess guess, double busier) const {
    if (target_ns == 0) return replayed;
    const Ns even = std::min(target_ns, scaled(replayed, ratio(target_ns, now[index_of(guess)])));
    if (unexplained_ns == 0) return even;
    const Ns with = replayed, without = replayed - unexplained_ns;
    const Bounds device = floors->of_device(changed(changes), guess);
    const Ns floor =
        std::min({with, target_ns, std::max(scaled(device.compute_ns, busier), device.link_ns)});
    switch (guess) {
      case Guess::least: return std::max(std::min(with, without), floor);
      case Guess::most: return std::min(std::max(with, without), target_ns);
      default: return std::max(even, floor);
    }
  }
};

// Adds a run's path to the path of one step of all runs: each nanosecond counts by the run's
// weight.
void add_to(Path& all, const Path& of_run, double weight) {
  const double a_step = weight * of_run.scale / static_cast<double>(of_run.periods);
  const auto steps = static_cast<std::size_t>(of_run.periods),
             before = all.items.empty() ? 0 : all.items.front().by_step.size();
  for (PathItem& item : all.items) item.by_step.resize(before + steps);
  for (const PathItem& of : of_run.items) {
    auto item = std::find_if(all.items.begin(), all.items.end(), [&](const PathItem& i) {
      return i.kind == of.kind && i.name == of.name;
    });
    if (item == all.items.end()) {
      item = all.items.emplace(all.items.end());
      item->kind = of.kind;
      item->name = of.name;
      item->by_step.resize(before + steps);
      item->by_device.resize(of.by_device.size());
    }
    item->ns += scaled(of.ns, a_step);
    all.total_ns += scaled(of.ns, a_step);
    for (std::size_t d = 0; d < of.by_device.size(); ++d)
      item->by_device[d] += scaled(of.by_device[d], a_step);
    std::copy(of.by_step.begin(), of.by_step.end(),
              item->by_step.begin() + static_cast<std::ptrdiff_t>(before));
    item->stretches += of.stretches;
    if (of.longest.length() > item->longest.length()) item->longest = of.longest;
  }
}

using Runs = std::vector<std::unique_ptr<const ReplayedRun>>;

}  // namespace

struct Replay::State {
  const Analysis& analysis;
  Runs runs;
  std::string reason;
  Path path;
  OfCauses recorded_by_cause, left_by_cause;
  double busier = 1;  // how much longer kernels run in all steps than in the replayed ones
  StepTime step;

  explicit State(const Analysis& a) : analysis(a), step(a) {
    for (ReplayedSteps& steps : choose_runs(a)) {
      runs.push_back(std::make_unique<const ReplayedRun>(a, std::move(steps)));
      reason = runs.back()->reason;
      if (!reason.empty()) return;
    }
    recorded_by_cause = mean_by_cause(&ReplayedRun::recorded_ns);
    left_by_cause = mean_by_cause(&ReplayedRun::left_ns);
    busier = std::max(
        1.0, computing_ns(all_by_cause()) / std::max(computing_ns(recorded_by_cause), 1.0));
    step = {a, step_ns({}, Guess::best, Guess::best),
            a.measured_step_ns() > 0 ? StepTime::From::measured : StepTime::From::replayed,
            weights()};
    step.part_ns = recorded_ns();
    if (step.from == StepTime::From::replayed) {
      step.least_ns =
          scaled(std::min(step.ns, step_ns({}, Guess::least, Guess::least)), 1 - run_to_run);
      step.most_ns =
          scaled(std::max(step.ns, step_ns({}, Guess::most, Guess::most)), 1 + run_to_run);
    }
    if (runs.size() == 1) {
      path = runs.front()->path;
      path.bring_to(step.ns);
      return;
    }
    for (const auto& run : runs) add_to(path, run->path, run->steps.weight);
    std::stable_sort(path.items.begin(), path.items.end(),
                     [](const PathItem& x, const PathItem& y) { return x.ns > y.ns; });
    path.bring_to(step.ns);
  }

  // The mean of `ns_of` over all runs, weighted.
  template <class NsOf>
  Ns mean_ns(NsOf ns_of) const {
    if (runs.size() == 1) return ns_of(*runs.front());
    double sum = 0;
    for (const auto& run : runs) sum += run->steps.weight * static_cast<double>(ns_of(*run));
    return static_cast<Ns>(std::llround(sum));
  }
  Ns recorded_ns() const {
    return mean_ns([](const ReplayedRun& r) { return r.steps.recorded_ns; });
  }
  Ns target_ns() const {
    return mean_ns([](const ReplayedRun& r) { return r.target_ns; });
  }
  Ns unexplained_ns() const {
    return mean_ns([](const ReplayedRun& r) { return r.unexplained_ns; });
  }

  Ns step_ns(const Changes& changes, Guess guess, Guess of_changes) const {
    const Ns ns = mean_ns(
        [&](const ReplayedRun& r) { return r.step_ns(changes, guess, of_changes, busier); });
    // The replayed steps may differ a little from all steps.
    const Ns measured = analysis.measured_step_ns();
    return measured > 0 ? scaled(ns, ratio(measured, target_ns())) : ns;
  }

  // By cause: the mean step of all runs.
  OfCauses mean_by_cause(OfCauses ReplayedRun::*of_run) const {
    OfCauses mean(analysis.account.causes.size());
    for (const auto& run : runs)
      for (std::size_t c = 0; c < mean.size(); ++c)
        mean[c] += run->steps.weight * ((*run).*of_run)[c];
    return mean;
  }

  // By cause: the mean of all steps, as recorded.
  OfCauses all_by_cause() const {
    OfCauses mean;
    for (std::size_t c = 0; c < analysis.account.causes.size(); ++c)
      mean.push_back(static_cast<double>(analysis.account.total_ns(c)) /
                     static_cast<double>(analysis.step_count()));
    return mean;
  }

  double computing_ns(const OfCauses& by_cause) const {
    double ns = 0;
    for (std::size_t c = 0; c < by_cause.size(); ++c)
      if (analysis.account.kinds[c].computes()) ns += by_cause[c];
    return ns;
  }

  // What remains of a recorded nanosecond without what the profiler added. Of a cause that the
  // replayed steps do not contain, all remains of work, and of idle time as much as of the rest.
  OfCauses weights() const {
    OfCauses weights = left_by_cause;
    const auto idle = static_cast<std::ptrdiff_t>(weights.size() - idle_causes);
    const double was = std::accumulate(recorded_by_cause.begin() + idle, recorded_by_cause.end(),
                                       0.0),
                 is = std::accumulate(left_by_cause.begin() + idle, left_by_cause.end(), 0.0);
    for (std::size_t c = 0; c < weights.size(); ++c)
      weights[c] = recorded_by_cause[c] > 0 ? left_by_cause[c] / recorded_by_cause[c]
                   : static_cast<std::ptrdiff_t>(c) >= idle && was > 0 ? is / was
                                                                       : 1;
    return weights;
  }

  // Why the measured step and the recorded ones cannot come from the same program; "" if they can.
  std::string distrust_of_measured() const {
    const Ns measured_ns = analysis.measured_step_ns();
    if (measured_ns > scaled(analysis.recorded_step_ns(), 1 + run_to_run))
      return fmt::format(
          "the measured {}, {}, is longer than the recorded one, {}, although a profiler only adds "
          "time",
          analysis.words().noun, duration(measured_ns), duration(analysis.recorded_step_ns()));
    if (unexplained_ns() > scaled(target_ns(), most_unexplained))
      return fmt::format(
          "the measured {}, {}, is shorter than the recorded one, {}, by more than a profiler is "
          "known to add",
          analysis.words().noun, duration(measured_ns), duration(analysis.recorded_step_ns()));
    return "";
  }
};

Replay::Replay(const Analysis& analysis) : state_(std::make_unique<const State>(analysis)) {}
Replay::~Replay() = default;

const std::string& Replay::reason() const { return state_->reason; }
const Analysis& Replay::analysis() const { return state_->analysis; }
Ns Replay::recorded_ns() const { return state_->recorded_ns(); }
bool Replay::whole_window() const { return state_->runs.front()->steps.whole; }
std::vector<const ReplayedSteps*> Replay::runs() const {
  std::vector<const ReplayedSteps*> all;
  for (const auto& run : state_->runs) all.push_back(&run->steps);
  return all;
}
std::size_t Replay::steps() const {
  std::size_t count = 0;
  for (const auto& run : state_->runs) count += run->steps.count;
  return count;
}
std::size_t Replay::of_steps() const {
  return whole_window() ? 1 : state_->analysis.devices.front().steps.size();
}
double Replay::of_window() const { return state_->runs.front()->steps.scale; }
double Replay::unrepresentative() const { return state_->runs.front()->steps.unrepresentative; }
double Replay::uniform_error() const {
  if (!reason().empty()) return 0;
  return ratio(state_->mean_ns([](const ReplayedRun& r) { return r.uniform_error_ns; }),
               recorded_ns());
}
double Replay::unresolved() const {
  double sum = 0;
  for (const auto& run : state_->runs)
    if (run->graph) sum += run->steps.weight * run->graph->unresolved;
  return sum;
}
const StepTime& Replay::step() const { return state_->step; }
const OfCauses& Replay::recorded_by_cause() const { return state_->recorded_by_cause; }
const OfCauses& Replay::left_by_cause() const { return state_->left_by_cause; }
std::vector<SilentWait> Replay::silences() const {
  std::vector<SilentWait> all;
  const std::vector<NameId>& names = state_->analysis.trace.calls.name;
  for (const auto& run : state_->runs) {
    if (!run->graph) continue;
    for (const Silence& s : run->graph->silences) {
      const bool told = s.ends == SilenceEnd::waited || s.replayed_both_ways;
      if (!told || least_silence_of_step * static_cast<double>(s.mean_ns) <
                       static_cast<double>(run->steps.recorded_ns))
        continue;
      SilentWait wait{
          s.thread, s.ends == SilenceEnd::waited, s.within_call, s.what_for, s.mean_ns, {}, no_row};
      for (const Silence::At& at : s.at)
        if (at.cause != no_row && at.end - at.start > wait.longest.length()) {
          wait.longest = {at.start, at.end};
          wait.call = at.call;
        }
      if (wait.call == no_row) continue;
      // Each run of steps finds it anew.
      const bool is_new = std::none_of(all.begin(), all.end(), [&](const SilentWait& other) {
        return other.thread == wait.thread && other.within_call == wait.within_call &&
               names[other.call] == names[wait.call];
      });
      if (is_new) all.push_back(std::move(wait));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const SilentWait& x, const SilentWait& y) { return x.mean_ns > y.mean_ns; });
  return all;
}
const Path& Replay::path() const { return state_->path; }
bool Replay::collectives() const {
  return std::any_of(state_->runs.begin(), state_->runs.end(), [](const auto& run) {
    return run->steps.collectives && (!run->graph || run->graph->unmet > trusted_error);
  });
}
Ns Replay::measured_ns() const {
  return reason().empty() ? state_->analysis.measured_step_ns() : 0;
}
Ns Replay::unexplained_ns() const { return state_->unexplained_ns(); }

bool Replay::explains() const {
  return reason().empty() && uniform_error() <= trusted_error && unresolved() <= trusted_error &&
         distrust_of_measured().empty();
}

bool Replay::trusted() const {
  return explains() && !collectives() && unrepresentative() <= trusted_error;
}

std::string Replay::distrust() const {
  if (!reason().empty()) return reason();
  if (uniform_error() > trusted_error)
    return fmt::format(
        "replaying {} is {} off",
        whole_window() ? "the unchanged window" : "the unchanged " + analysis().words().many,
        percent(uniform_error()));
  if (unresolved() > trusted_error)
    return fmt::format("{} of the time is spent in waits whose reason the trace does not show",
                       percent(unresolved()));
  if (collectives())
    return "other ranks are not in the report: the time that collectives wait for them is assumed "
           "to "
           "stay the same";
  if (unrepresentative() > trusted_error)
    return fmt::format("the replayed {} by {}",
                       whole_window() ? "part of the window differs from the whole"
                                      : analysis().words().many + " differ from the average",
                       percent(unrepresentative()));
  return distrust_of_measured();
}

std::string Replay::distrust_of_measured() const {
  return reason().empty() ? state_->distrust_of_measured() : "";
}

void Replay::trim(Changes& changes) const {
  const auto in_any_run = [&](auto holds) {
    return std::any_of(state_->runs.begin(), state_->runs.end(),
                       [&](const auto& run) { return holds(run->steps); });
  };
  for (Change& c : changes) {
    keep_rows(
        c, [&](Row op) { return in_any_run([&](auto& steps) { return steps.ops.holds(op); }); },
        [&](Row call) { return in_any_run([&](auto& steps) { return steps.calls.holds(call); }); });
    auto* pause = std::get_if<change::Pause>(&c);
    if (!pause) continue;
    std::erase_if(pause->host, [&](const HostSpan& h) {
      return !in_any_run([&](auto& steps) {
        return h.span.end > steps.window.start && h.span.start < steps.window.end;
      });
    });
    pause->host.shrink_to_fit();
  }
}

Ns Replay::step_ns(const Changes& changes, Guess guess) const {
  return state_->step_ns(changes, guess, guess);
}

Ns Replay::step_ns(const Changes& changes, Guess guess, Guess of_changes) const {
  return state_->step_ns(changes, guess, of_changes);
}

Ns Replay::profiled_step_ns(const Changes& changes) const {
  return state_->mean_ns([&](const ReplayedRun& r) {
    return step_with(*r.graph, *r.floors, r.graph->recorded, changes, Guess::best, Guess::best, 0,
                     1);
  });
}

std::size_t Replay::points() const {
  std::size_t points = 0;
  for (const auto& run : state_->runs) points += run->graph ? run->graph->nodes() : 0;
  return points;
}

bool Replay::gives_trace() const {
  return reason().empty() && state_->runs.size() == 1 && !state_->runs.front()->steps.led;
}

TraceAfter Replay::trace_after(const Changes& changes) const {
  const ReplayedRun& run = *state_->runs.front();
  Edges edges = run.graph->recorded;
  for (const Change& c : changes) apply(*run.graph, c, Guess::best, edges);
  TraceAfter made = gh::trace_after(*run.graph, edges, changes);
  if (measured_ns() > 0)
    made.trace.measured_step = {step_ns(changes), state_->analysis.trace.measured_step.from};
  return made;
}

Replay::Bounds Replay::bounds(const Changes& changes) const {
  Bounds all;
  for (const auto& run : state_->runs) {
    const Bounds b = run->bounds(changes);
    for (const auto part :
         {&Bounds::products_ns, &Bounds::compute_ns, &Bounds::link_ns, &Bounds::host_ns})
      all.*part += scaled(b.*part, run->steps.weight);
  }
  for (const auto part : {&Bounds::products_ns, &Bounds::compute_ns})
    all.*part = scaled(all.*part, state_->busier);
  return all;
}

}  // namespace gh
