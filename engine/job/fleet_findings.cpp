// Combines what rules found on the ranks into one finding for the job.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

using RanksByRule = std::map<std::string, std::int64_t>;

// A rule counts as checked if any rank could be checked; the reasons of the others are kept.
void add_outcome(const RuleOutcome& of_rank, RuleOutcome& outcome) {
  if (of_rank.state == outcome.state) return;
  const bool failed =
      of_rank.state == RuleOutcome::State::failed || outcome.state == RuleOutcome::State::failed;
  if (outcome.reason.empty()) outcome.reason = of_rank.reason;
  outcome.state = failed ? RuleOutcome::State::failed : std::min(of_rank.state, outcome.state);
}

// Returns on how many ranks each rule could be checked.
RanksByRule add_rules(const FleetMembers& members, Fleet& fleet) {
  RanksByRule looked, not_looked;
  for (const FleetMember& m : members) {
    for (const auto& [id, outcome] : m.rank->rules) {
      ++(outcome.state == RuleOutcome::State::looked ? looked : not_looked)[id];
      const auto [it, first] = fleet.rules.try_emplace(id, outcome);
      if (!first) add_outcome(outcome, it->second);
    }
  }
  for (auto& [id, outcome] : fleet.rules) {
    if (outcome.reason.starts_with("the report holds only one rank")) {
      outcome.reason = "needs all ranks in one report; each digest contains only one";
    }
    if (outcome.state == RuleOutcome::State::looked && not_looked[id] > 0) {
      outcome.reason =
          fmt::format("not on {} of {} ranks: {}", not_looked[id], members.size(), outcome.reason);
    }
  }
  return looked;
}

// Adds on which ranks the finding holds; everything else in it describes the worst rank.
void tell_of_job(std::size_t all_ranks, const Fleet& fleet, FleetFinding& f) {
  const auto all = static_cast<std::int64_t>(all_ranks), not_looked = all - f.looked;
  std::string who;
  if (f.ranks.size() < all_ranks) {
    who = fmt::format("On {} of {} ranks ({})", f.ranks.size(), all, ranks_text(f.ranks));
  } else {
    who = all == 1 ? "On the one rank" : fmt::format("On all {} ranks", all);
  }
  f.finding.message = fmt::format("{}; rank {}: {}", who, f.worst, f.finding.message);
  if (not_looked > 0) {
    f.finding.message += fmt::format(" Its rule could not be checked on {} rank{}.", not_looked,
                                     not_looked == 1 ? "" : "s");
  }
  const std::string& node = rank_numbered(fleet, f.worst).node;
  for (Evidence& e : f.finding.evidence) {
    e.note = fmt::format("rank {}{}{}{}", f.worst, node.empty() ? "" : " on " + node,
                         e.note.empty() ? "" : ", ", e.note);
  }
}

}  // namespace

void add_findings(const FleetMembers& members, Fleet& fleet) {
  RanksByRule looked = add_rules(members, fleet);
  std::map<std::string, std::size_t> index;  // into fleet.findings, by fingerprint
  std::vector<std::vector<Ns>> worth_ns;     // parallel to them
  for (const FleetMember& m : members) {
    const std::int64_t rank = *m.rank->rank;
    for (const Finding& f : m.rank->findings) {
      if (f.rule == late_rule) continue;
      const auto [it, first] = index.try_emplace(f.fingerprint, worth_ns.size());
      if (first) {
        fleet.findings.push_back({f, {}, looked[f.rule], rank, {}, false});
        worth_ns.emplace_back();
      }
      FleetFinding& of = fleet.findings[it->second];
      if (f.recoverable_ns > of.finding.recoverable_ns) {
        of.finding = f;
        of.worst = rank;
      }
      if (of.ranks.empty() || of.ranks.back() != rank) of.ranks.push_back(rank);
      worth_ns[it->second].push_back(f.recoverable_ns);
    }
  }
  for (std::size_t i = 0; i < worth_ns.size(); ++i) {
    fleet.findings[i].rank_ns = quartiles(worth_ns[i]);
    tell_of_job(members.size(), fleet, fleet.findings[i]);
  }
}

void suppress_findings(const std::vector<Suppression>& suppressions, const std::string& today,
                       Fleet& fleet) {
  for (const Suppression& s : suppressions) {
    SuppressionState state = SuppressionState::expired;
    if (s.holds(today)) {
      const auto outcome = fleet.rules.find(s.rule);
      state = outcome != fleet.rules.end() && outcome->second.state == RuleOutcome::State::looked
                  ? SuppressionState::unused
                  : SuppressionState::not_checked;
      for (FleetFinding& f : fleet.findings) {
        if (f.finding.rule == s.rule && glob_match(s.subject, f.finding.subject) &&
            (!s.up_to || static_cast<double>(f.rank_ns.most) <= *s.up_to)) {
          f.suppressed = true;
          state = SuppressionState::used;
        }
      }
    }
    fleet.suppressions.emplace_back(s, state);
  }
}

void sort_findings(Fleet& fleet) {
  std::vector<Placed> placed;
  for (const FleetFinding& f : fleet.findings) placed.push_back({&f.finding, f.finding});
  std::vector<FleetFinding> sorted;
  for (Placed& p : ranked(std::move(placed))) {
    const auto same = [&](const FleetFinding& of) { return &of.finding == p.finding; };
    sorted.push_back(*std::find_if(fleet.findings.begin(), fleet.findings.end(), same));
    static_cast<Standing&>(sorted.back().finding) = std::move(p.standing);
  }
  fleet.findings = std::move(sorted);
}

}  // namespace gh
