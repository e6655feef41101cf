#include "whatif/replay.hpp"

#include <fmt/format.h>

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

Ns step_with(const ReplayGraph& g, Edges edges, const Changes& changes, Guess guess) {
  for (const Change& c : changes) apply(g, c, guess, edges);
  return g.step_ns(g.times(edges));
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
  std::string reason;
  std::array<Edges, 3> unprofiled;  // by Guess
  std::array<Ns, 3> now{};          // likewise: the step with no change
  double uniform_error = 0;

  explicit State(const Analysis& a) : analysis(a), steps(choose_steps(a)), reason(steps.reason) {
    if (!reason.empty()) return;
    graph.emplace(analysis, steps);
    reason = graph->reason;
    if (!reason.empty()) return;
    for (const Guess guess : {Guess::best, Guess::least, Guess::most}) {
      const auto i = static_cast<std::size_t>(guess);
      unprofiled[i] = without_overhead(*graph, guess);
      now[i] = graph->step_ns(graph->times(unprofiled[i]));
    }
    const Ns same = graph->step_ns(graph->times(uniform(*graph)));
    uniform_error = std::abs(static_cast<double>(same - steps.recorded_ns)) /
                    static_cast<double>(steps.recorded_ns);
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
bool Replay::collectives() const {
  return state_->steps.collectives && (!state_->graph || state_->graph->unmet > trusted_error);
}

bool Replay::trusted() const {
  return reason().empty() && !collectives() && uniform_error() <= trusted_error &&
         unresolved() <= trusted_error && unrepresentative() <= trusted_error;
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
  return "";
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
  const auto i = static_cast<std::size_t>(guess);
  if (changes.empty()) return state_->now[i];
  return step_with(*state_->graph, state_->unprofiled[i], changes, guess);
}

Ns Replay::profiled_step_ns(const Changes& changes) const {
  return step_with(*state_->graph, state_->graph->recorded, changes, Guess::best);
}

Replay::Bounds Replay::bounds(const Changes& changes) const {
  Edges edges = state_->unprofiled[static_cast<std::size_t>(Guess::best)];
  for (const Change& c : changes) apply(*state_->graph, c, Guess::best, edges);
  return bounds_of(*state_->graph, std::move(edges));
}

}  // namespace gh
