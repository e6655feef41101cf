// Finds ranks that come late to collectives, so that the others wait: which, on which nodes, and
// what they spend the time on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

// Share of the job's step from which a late rank is reported: rank-straggler's note_share.
constexpr double straggler_share = 0.02;
// Share of the job's waiting that a straggler must cause alone; otherwise ranks take turns.
constexpr double persistent_share = 0.5;

bool is_straggler(const Fleet& fleet, std::int64_t rank) {
  return std::find(fleet.stragglers.begin(), fleet.stragglers.end(), rank) !=
         fleet.stragglers.end();
}

std::vector<FleetNode> nodes_of(const Fleet& fleet) {
  std::map<std::string, std::vector<const FleetRank*>> ranks_by_node;
  for (const FleetRank& r : fleet.ranks) {
    if (!r.node.empty()) ranks_by_node[r.node].push_back(&r);
  }
  std::vector<FleetNode> nodes;
  for (const auto& [node, ranks] : ranks_by_node) {
    FleetNode n{node, static_cast<std::int64_t>(ranks.size()), 0, 0};
    std::vector<double> lateness;
    for (const FleetRank* r : ranks) {
      n.late += is_straggler(fleet, r->rank);
      lateness.push_back(r->late_ns);
    }
    n.late_ns = middle_of(std::move(lateness));
    nodes.push_back(std::move(n));
  }
  return nodes;
}

// ---- what a late rank does

// What a late rank does in a kind of idle time, and the rule that finds why on the rank itself. By
// IdleCause.
struct IdleWords {
  const char* words;
  const char* rule;
};
constexpr std::array<IdleWords, idle_causes> idle_words{{
    {"waiting for its data loader", "data-loader-starvation"},
    {"waiting for its own synchronization", "host-sync"},
    {"waiting for its launches", "launch-bound"},
    {"allocating memory", "alloc-churn"},
    {"compiling code", "jit-in-loop"},
    {"loading code", "first-use"},
    {"handling CPU page faults", "um-migration-storm"},
    {"in calls that failed", "failed-calls"},
    {"between launches and kernels", "launch-bound"},
    {"between kernels", "unexplained"},
    {"idle for no visible reason", "gpu-idle"},
}};

struct Excess {
  std::string name;  // of the cause in the account; "" if no single cause explains the lateness
  double ns = 0;     // a step

  Cause cause() const { return name; }
};

// What a rank spends per step, without waiting for others; all computing counts as one cause.
std::map<std::string, double> spent_by(const Fleet& fleet, const FleetRank& r) {
  static const std::string computing = cause_name("any");
  std::map<std::string, double> spent;
  for (std::size_t c = 0; c < fleet.causes.size(); ++c) {
    const Cause cause = fleet.causes[c];
    if (cause.of == Cause::Of::communication) continue;
    spent[cause.computes() ? computing : fleet.causes[c]] += r.cause_ns[c];
  }
  return spent;
}

// What a late rank spends more time on than the others do, and how much.
Excess excess_of(const Fleet& fleet, const FleetRank& late) {
  std::map<std::string, std::vector<double>> others;
  for (const FleetRank& r : fleet.ranks) {
    if (&r == &late || r.group != late.group || is_straggler(fleet, r.rank)) continue;
    for (const auto& [cause, ns] : spent_by(fleet, r)) others[cause].push_back(ns);
  }
  Excess most;
  for (const auto& [cause, ns] : spent_by(fleet, late)) {
    if (const double more = ns - middle_of(others[cause]); more > most.ns) most = {cause, more};
  }
  if (most.ns < late.late_ns / 4) most.name.clear();
  return most;
}

std::string excess_text(const Excess& excess) {
  const Cause cause = excess.cause();
  if (cause.is_idle()) return idle_words[static_cast<std::size_t>(cause.idle)].words;
  if (cause.computes()) return "computing";
  if (cause == Cause::Of::copy) return "copying";
  return cause == Cause::Of::um_stall ? "waiting for unified memory" : cause_label(excess.name);
}

std::string excess_advice(const Excess& excess) {
  const Cause cause = excess.cause();
  if (cause.computes()) {
    return "These ranks compute longer. Compare how many kernels they run and how many tokens they "
           "get; if both are the same, their GPU is slower (nvidia-smi -q -d "
           "CLOCK,PERFORMANCE,TEMPERATURE) or shared.";
  }
  if (cause == IdleCause::input) {
    return "Give these ranks as many loader workers and cores as the others, and shards of the "
           "same size; check the node's file system.";
  }
  if (cause == IdleCause::launch) {
    return "The hosts of these ranks launch more slowly. The profiler slows launching too, so "
           "first time the program without it. If the difference remains, bind processes to the "
           "cores next to their GPU (srun --cpu-bind, numactl), and look for other work on the "
           "node.";
  }
  if (excess.name.empty()) {
    return "No single kind of work sets these ranks apart: compare the timeline of one of them "
           "with that of another rank before the longest waits.";
  }
  return "Move what only these ranks do (logging, validation, saving, reading back results) out of "
         "the loop, or let all ranks take turns.";
}

// The rule that finds the cause on the late rank itself.
std::string root_of(const Cause& cause) {
  return cause.is_idle() ? idle_words[static_cast<std::size_t>(cause.idle)].rule : "";
}

// ---- the finding

// ", on node n3,", including the commas; "" if nodes show nothing.
std::string where_text(const Fleet& fleet) {
  std::set<std::string> on;
  for (const std::int64_t rank : fleet.stragglers) {
    const std::string& node = rank_numbered(fleet, rank).node;
    if (!node.empty()) on.insert(node);
  }
  if (on.empty()) return "";
  if (on.size() > 1) return fmt::format(", on {} nodes,", on.size());
  if (fleet.nodes.size() == 1) return "";
  const auto node = std::find_if(fleet.nodes.begin(), fleet.nodes.end(),
                                 [&](const FleetNode& n) { return n.node == *on.begin(); });
  return node->late == node->ranks && node->ranks > 1
             ? fmt::format(", all ranks of node {},", node->node)
             : fmt::format(", on node {},", node->node);
}

// Some ranks are late in most steps.
void tell_stragglers(const Fleet& fleet, FleetFinding& f) {
  const bool one = fleet.stragglers.size() == 1;
  f.ranks = fleet.stragglers;
  std::sort(f.ranks.begin(), f.ranks.end());
  f.worst = fleet.stragglers.front();
  std::vector<Ns> lateness;
  for (const std::int64_t rank : fleet.stragglers) {
    lateness.push_back(static_cast<Ns>(rank_numbered(fleet, rank).late_ns));
  }
  f.rank_ns = quartiles(lateness);

  const FleetRank& worst = rank_numbered(fleet, f.worst);
  const Excess excess = excess_of(fleet, worst);
  const std::string where = where_text(fleet);
  std::string why;
  if (!excess.name.empty()) {
    why = fmt::format("; rank {} spends {} {} more than the others {}", worst.rank,
                      duration(excess.ns), fleet.unit.per, excess_text(excess));
  }
  f.finding.subject = fmt::format("rank{} {}", one ? "" : "s", ranks_text(f.ranks));
  f.finding.message = fmt::format(
      "The other ranks wait in collectives for {} {}{} which {} {} later than the middle rank in "
      "{} {} {} ({}){}.",
      one ? "rank" : "ranks", ranks_text(f.ranks), where.empty() ? "," : where,
      one ? "comes" : "come up to", duration(worst.late_ns),
      fleet.unit.is_window() ? "the" : "each", duration(fleet.step_ns), fleet.unit.noun,
      percent(worst.late_ns / fleet.step_ns), why);
  f.finding.advice = {excess_advice(excess)};
  f.finding.follows_from = root_of(excess.cause());
  // Launching is slower under the profiler, and not equally on all ranks, so the profiler may
  // be the reason.
  f.only_note = excess.cause() == IdleCause::launch;
}

// All ranks wait, but for a different rank each time.
void tell_ranks_in_turn(const Fleet& fleet, FleetFinding& f) {
  const auto worst = std::max_element(
      fleet.ranks.begin(), fleet.ranks.end(),
      [](const FleetRank& a, const FleetRank& b) { return a.late_ns < b.late_ns; });
  for (const FleetRank& r : fleet.ranks) {
    if (r.group >= 0) f.ranks.push_back(r.rank);
  }
  f.worst = worst->rank;
  const Ns waited_ns = static_cast<Ns>(fleet.waited_ns);
  f.rank_ns = {0, 0, waited_ns, waited_ns, waited_ns};
  f.finding.subject = ranks_in_turn;
  f.finding.message = fmt::format(
      "Ranks take turns being late to collectives: the middle rank waits {} of {} {} {} for the "
      "last one ({}), and no rank causes half of it.",
      duration(fleet.waited_ns), fleet.unit.is_window() ? "the" : "each", duration(fleet.step_ns),
      fleet.unit.noun, percent(fleet.waited_ns / fleet.step_ns));
  f.finding.advice = {
      "Ranks that take turns usually have unequal batches: bucket or pack sequences by length, so "
      "that all ranks get the same number of tokens each time."};
}

RuleOutcome::State late_state(const Fleet& fleet) {
  return fleet.groups > 0 ? RuleOutcome::State::looked : RuleOutcome::State::not_checked;
}

std::string late_reason(const Fleet& fleet) {
  if (fleet.groups == 0) return fleet.clocks;
  const auto alone = std::count_if(fleet.ranks.begin(), fleet.ranks.end(),
                                   [](const FleetRank& r) { return r.group < 0; });
  if (alone == 0) return "";
  return fmt::format("not on {} of {} ranks, whose collectives match no other rank's", alone,
                     fleet.ranks.size());
}

}  // namespace

void add_stragglers(Fleet& fleet) {
  std::vector<const FleetRank*> stragglers;
  for (const FleetRank& r : fleet.ranks) {
    if (r.late_ns > 0 && r.late_ns >= straggler_share * fleet.step_ns &&
        r.late_ns >= persistent_share * fleet.waited_ns) {
      stragglers.push_back(&r);
    }
  }
  std::stable_sort(stragglers.begin(), stragglers.end(),
                   [](const FleetRank* a, const FleetRank* b) { return a->late_ns > b->late_ns; });
  for (const FleetRank* r : stragglers) fleet.stragglers.push_back(r->rank);
  fleet.nodes = nodes_of(fleet);
}

void add_late_finding(const Rule* late, Fleet& fleet) {
  // Without collectives, keep what the ranks' own reports say about the rule.
  if (!late || !fleet.collectives) return;
  RuleOutcome& outcome = fleet.rules[late_rule];
  outcome.state = late_state(fleet);
  outcome.reason = late_reason(fleet);

  FleetFinding f;
  f.finding.rule = late->id;
  f.finding.category = late->category;
  f.finding.title = late->title;
  f.looked = static_cast<std::int64_t>(std::count_if(
      fleet.ranks.begin(), fleet.ranks.end(), [](const FleetRank& r) { return r.group >= 0; }));
  if (!fleet.stragglers.empty()) {
    tell_stragglers(fleet, f);
  } else if (fleet.waited_ns >= warning_at * fleet.step_ns) {
    tell_ranks_in_turn(fleet, f);
  } else {
    return;
  }
  f.finding.metrics = {
      {"waiting for the last rank", fleet.waited_ns / fleet.step_ns, Unit::fraction, warning_at}};
  f.finding.fingerprint = fingerprint(f.finding);
  fleet.findings.push_back(std::move(f));
}

}  // namespace gh
