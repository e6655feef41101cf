#include "whatif/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/text.hpp"
#include "whatif/apply.hpp"
#include "whatif/graph.hpp"
#include "whatif/overhead.hpp"

namespace gh {
namespace {

constexpr double trusted_error = 0.02;
// A run may be slower than the recorded one by this much: steps of the same program differ so.
constexpr double run_to_run = 0.06;
// Of the measured step: what recording may have added beyond what launches explain, or a forecast
// would be more guess than replay. Recordings of page faults show up to 0.3.
constexpr double most_unexplained = 1.0 / 3;

double ratio(Ns a, Ns b) { return static_cast<double>(a) / static_cast<double>(b); }

// Every operation and every wait with the usual weights.
Edges uniform(const ReplayGraph& g) {
  Edges edges = g.recorded;
  for (Row op = g.steps.ops.first; op < g.steps.ops.end(); ++op) {
    const Node n = g.start_node(op);
    auto& weight = edges.weight[n];
    if (edges.from[n][edge::launch] != origin) weight[edge::launch] = g.launch_ns;
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

// No step is shorter than what the device or the link is busy for, whatever waits for what.
Ns step_with(const ReplayGraph& g, const Floors& floors, Edges edges, const Changes& changes,
             Guess guess) {
  for (const Change& c : changes) apply(g, c, guess, edges);
  const Bounds b = floors.of_device(edges);
  return std::max({g.step_ns(g.times(edges)), b.compute_ns, b.link_ns});
}

// Keeps of a change's rows those of the block, and gives back the memory of the rest.
void keep_rows(Change& c, const RowBlock& block) {
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
}

}  // namespace

struct Replay::State {
  const Analysis& analysis;
  const ReplayedSteps steps;
  std::optional<const ReplayGraph> graph;
  std::optional<const Floors> floors;
  std::string reason;
  std::array<Edges, guesses> unprofiled;  // by Guess
  std::array<Ns, guesses> now{};          // likewise: the step with no change
  double uniform_error = 0;
  Ns measured_ns = 0;     // the step without a profiler; 0 where nobody measured it
  Ns target_ns = 0;       // the same of the replayed steps, if they are not quite like all
  Ns unexplained_ns = 0;  // now[best] less that, beyond noise
  Path path;

  explicit State(const Analysis& a) : analysis(a), steps(choose_steps(a)), reason(steps.reason) {
    if (!reason.empty()) return;
    graph.emplace(analysis, steps);
    reason = graph->reason;
    if (!reason.empty()) return;
    floors.emplace(*graph);
    measured_ns = analysis.measured_step_ns();
    if (measured_ns > 0)
      target_ns =
          std::max<Ns>(1, scaled(measured_ns, ratio(steps.recorded_ns, a.recorded_step_ns())));
    const LaunchesWorth worth =
        measured_ns > 0 ? known_overhead(*graph, target_ns) : guessed_overhead();
    for (std::size_t i = 0; i < worth.size(); ++i) {
      unprofiled[i] = without_overhead(*graph, worth[i]);
      now[i] = graph->step_ns(graph->times(unprofiled[i]));
    }
    // A run that is a little slower than the recorded one is slower everywhere.
    if (const Ns off = now[index_of(Guess::best)] - target_ns;
        measured_ns > 0 &&
        (off > scaled(target_ns, measured_noise) || off < -scaled(steps.recorded_ns, run_to_run)))
      unexplained_ns = off;
    const Ns same = graph->step_ns(graph->times(uniform(*graph)));
    uniform_error = std::abs(static_cast<double>(same - steps.recorded_ns)) /
                    static_cast<double>(steps.recorded_ns);
    path = find_path(*graph);
  }

  // What a replayed step takes where today's is known: in proportion. Of time that nothing
  // explains, all or none may lie in what the changes leave; but no profiler makes kernels or
  // copies longer.
  Ns as_measured(Ns replayed, const Changes& changes, Guess guess) const {
    if (measured_ns == 0) return replayed;
    const Ns even =
        std::min(measured_ns, scaled(replayed, ratio(measured_ns, now[index_of(guess)])));
    if (unexplained_ns == 0) return even;
    const double to_all = ratio(measured_ns, target_ns);
    const Ns with = scaled(replayed, to_all), without = scaled(replayed - unexplained_ns, to_all);
    const Bounds device = floors->of_device(changed(changes));
    const Ns floor = std::min({with, measured_ns, std::max(device.compute_ns, device.link_ns)});
    switch (guess) {
      case Guess::least: return std::max(std::min(with, without), floor);
      case Guess::most: return std::min(std::max(with, without), measured_ns);
      default: return std::max(even, floor);
    }
  }

  // What each node waits for with these changes made.
  Edges changed(const Changes& changes) const {
    Edges edges = unprofiled[index_of(Guess::best)];
    for (const Change& c : changes) apply(*graph, c, Guess::best, edges);
    return edges;
  }

  // Why the measured step and the recorded ones cannot be of one program; "" where they can.
  std::string distrust_of_measured() const {
    if (measured_ns > scaled(analysis.recorded_step_ns(), 1 + run_to_run))
      return fmt::format(
          "the measured step, {}, is longer than the recorded one, {}, to which the profiler can "
          "only have added",
          duration(measured_ns), duration(analysis.recorded_step_ns()));
    if (unexplained_ns > scaled(target_ns, most_unexplained))
      return fmt::format(
          "the measured step, {}, is shorter than the recorded one, {}, by more than a profiler is "
          "known to add",
          duration(measured_ns), duration(analysis.recorded_step_ns()));
    return "";
  }
};

Replay::Replay(const Analysis& analysis) : state_(std::make_unique<const State>(analysis)) {}
Replay::~Replay() = default;

const std::string& Replay::reason() const { return state_->reason; }
const Analysis& Replay::analysis() const { return state_->analysis; }
Ns Replay::recorded_ns() const { return state_->steps.recorded_ns; }
std::size_t Replay::steps() const { return state_->steps.count; }
const std::vector<std::pair<std::size_t, std::size_t>>& Replay::device_steps() const {
  return state_->steps.device_steps;
}
double Replay::unrepresentative() const { return state_->steps.unrepresentative; }
double Replay::uniform_error() const { return state_->uniform_error; }
double Replay::unresolved() const { return state_->graph ? state_->graph->unresolved : 0; }
const Path& Replay::path() const { return state_->path; }
bool Replay::collectives() const {
  return state_->steps.collectives && (!state_->graph || state_->graph->unmet > trusted_error);
}
Ns Replay::measured_ns() const { return state_->measured_ns; }
Ns Replay::unexplained_ns() const { return state_->unexplained_ns; }

bool Replay::trusted() const {
  return reason().empty() && !collectives() && uniform_error() <= trusted_error &&
         unresolved() <= trusted_error && unrepresentative() <= trusted_error &&
         state_->distrust_of_measured().empty();
}

std::string Replay::distrust() const {
  if (!reason().empty()) return reason();
  if (uniform_error() > trusted_error)
    return fmt::format("the replay of the steps as they are is {} off", percent(uniform_error()));
  if (unresolved() > trusted_error)
    return fmt::format("{} of the time is spent in waits of which the trace does not tell what for",
                       percent(unresolved()));
  if (collectives())
    return "other ranks are not in the report: how long collectives wait for them is taken to stay "
           "as it is";
  if (unrepresentative() > trusted_error)
    return fmt::format("the replayed steps differ from all by {}", percent(unrepresentative()));
  return state_->distrust_of_measured();
}

void Replay::trim(Changes& changes) const {
  const ReplayedSteps& steps = state_->steps;
  for (Change& c : changes) {
    const bool of_calls = c.kind == Change::Kind::unblock || c.kind == Change::Kind::drop;
    keep_rows(c, of_calls ? steps.calls : steps.ops);
    std::erase_if(c.host, [&](const HostSpan& h) {
      return h.span.end <= steps.window.start || h.span.start >= steps.window.end;
    });
    c.host.shrink_to_fit();
  }
}

Ns Replay::step_ns(const Changes& changes, Guess guess) const {
  if (changes.empty()) return measured_ns() > 0 ? measured_ns() : state_->now[index_of(guess)];
  return state_->as_measured(step_with(*state_->graph, *state_->floors,
                                       state_->unprofiled[index_of(guess)], changes, guess),
                             changes, guess);
}

Ns Replay::profiled_step_ns(const Changes& changes) const {
  return step_with(*state_->graph, *state_->floors, state_->graph->recorded, changes, Guess::best);
}

std::size_t Replay::points() const { return state_->graph ? state_->graph->nodes() : 0; }

Remade Replay::remade(const Changes& changes) const {
  Edges edges = state_->graph->recorded;
  for (const Change& c : changes) apply(*state_->graph, c, Guess::best, edges);
  Remade made = remake(*state_->graph, edges, changes);
  if (measured_ns() > 0)
    made.trace.measured_step = {step_ns(changes), state_->analysis.trace.measured_step.from};
  return made;
}

Replay::Bounds Replay::bounds(const Changes& changes) const {
  return state_->floors->of(state_->changed(changes));
}

}  // namespace gh
