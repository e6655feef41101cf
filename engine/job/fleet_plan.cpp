// Finds what fixes are worth to the job, and the order in which to make them.
#include <algorithm>
#include <map>
#include <set>

#include "job/fleet_passes.hpp"

namespace gh {
namespace {

constexpr double least_worth = 0.02;  // of the remaining step, for a fix to be part of the plan
constexpr std::size_t most_fixes = 8;

using NsByRank = std::vector<double>;  // parallel to Fleet::ranks

// The job's step cannot become shorter than the longest of what each rank needs by itself: its step
// without waiting for others. If the waits are unknown, all of its exposed communication may be
// waiting.
class Job {
 public:
  explicit Job(const Fleet& fleet) : fleet_(fleet) {
    for (const FleetRank& r : fleet.ranks) {
      const double communication = cause_ns_of(fleet, r, Cause::Of::communication);
      own_.push_back(r.step_ns - (r.group >= 0 ? r.wait_ns : communication));
      transfer_.push_back(r.group >= 0 ? communication - r.wait_ns : communication);
      index_.emplace(r.rank, index_.size());
    }
  }

  std::size_t slowest() const {
    return static_cast<std::size_t>(std::max_element(own_.begin(), own_.end()) - own_.begin());
  }

  // What a fix may save on each rank.
  NsByRank wins(const FleetFinding& f, const FleetMembers& members) const {
    NsByRank win(own_.size());
    if (f.finding.rule == late_rule) {
      const bool in_turn = f.finding.subject == ranks_in_turn;
      for (const std::int64_t rank : f.ranks) {
        const std::size_t r = index_.at(rank);
        win[r] = in_turn ? fleet_.waited_ns : fleet_.ranks[r].late_ns;
      }
      return win;
    }
    for (std::size_t m = 0; m < members.size(); ++m) {
      for (const Finding& own : members[m].rank->findings) {
        if (own.fingerprint != f.finding.fingerprint) continue;
        // Waiting in collectives goes away by fixing what makes other ranks late, not by fixing
        // communication.
        const double most = own.category == "comm" ? transfer_[m] : own_[m];
        win[m] += std::min(static_cast<double>(own.recoverable_ns), most);
      }
    }
    return win;
  }

  double least_step(const NsByRank& win) const {
    double longest = 0, sum = 0;
    for (std::size_t r = 0; r < own_.size(); ++r) {
      longest = std::max(longest, own_[r] - win[r]);
      sum += win[r];
    }
    return std::clamp(std::max(longest, fleet_.step_ns - sum), 0.0, fleet_.step_ns);
  }

 private:
  const Fleet& fleet_;
  NsByRank own_;       // its step without waiting for others
  NsByRank transfer_;  // its exposed communication without waiting for others
  std::map<std::int64_t, std::size_t> index_;  // by rank
};

// If a rank's peers are missing, its communication may be nothing but waiting for them.
bool is_untold(const FleetFinding& f, const Fleet& fleet) {
  const bool partly = !fleet.missing.empty() || (fleet.ranks.size() == 1 && fleet.collectives);
  return partly && f.finding.category == "comm";
}

// ---- what each fix is worth on its own

Severity severity_for_job(const FleetFinding& f, const Fleet& fleet) {
  if (is_untold(f, fleet)) return Severity::note;
  const Severity by_worth = severity_at(f.finding.recoverable_fraction);
  if (f.finding.rule == late_rule) return f.only_note ? Severity::note : by_worth;
  // A rule marks findings that may be intended as notes, and what is serious on one rank may matter
  // little to the job.
  if (f.finding.voids || f.finding.severity == Severity::note || f.rank_ns.most <= 0) {
    return f.finding.severity;
  }
  return std::min(f.finding.severity, by_worth);
}

void tell_worth(double won_ns, const Fleet& fleet, FleetFinding& f) {
  f.finding.recoverable_ns = f.finding.alone_ns = static_cast<Ns>(won_ns);
  f.finding.recoverable_fraction = f.finding.alone_fraction =
      fleet.step_ns > 0 ? won_ns / fleet.step_ns : 0;
  f.finding.about = false;
  f.finding.predicted.reset();
  f.finding.severity = severity_for_job(f, fleet);
}

// ---- the order of fixes

// Fixes already made, and what another one would give.
struct Made {
  const Fleet& fleet;
  const Job& job;
  const std::vector<NsByRank>& wins;  // parallel to Fleet::findings
  NsByRank won;

  // A late rank is late for a reason that another finding may name. Count the larger of the two,
  // not their sum.
  NsByRank with(std::size_t i) const {
    NsByRank sum = won;
    const bool late = fleet.findings[i].finding.rule == late_rule;
    for (std::size_t r = 0; r < sum.size(); ++r) {
      sum[r] = late ? std::max(sum[r], wins[i][r]) : sum[r] + wins[i][r];
    }
    return sum;
  }
  double step_with(std::size_t i) const { return job.least_step(with(i)); }
};

// The finding whose fix leaves the shortest step; among equals, prefer a cause over a consequence.
std::size_t best_fix(const Made& made, const std::set<std::size_t>& rest, double step_ns) {
  const auto shorter = [&](std::size_t a, std::size_t b) {
    return made.step_with(a) < made.step_with(b);
  };
  const auto is_cause = [&](std::size_t i) {
    return made.fleet.findings[i].finding.follows_from.empty();
  };
  const std::size_t best = *std::min_element(rest.begin(), rest.end(), shorter);
  if (is_cause(best)) return best;
  std::set<std::size_t> causes;
  for (const std::size_t i : rest) {
    if (is_cause(i) && made.step_with(i) - made.step_with(best) < least_worth * step_ns) {
      causes.insert(i);
    }
  }
  return causes.empty() ? best : *std::min_element(causes.begin(), causes.end(), shorter);
}

std::vector<FleetFix> planned(const Fleet& fleet, const Job& job,
                              const std::vector<NsByRank>& wins) {
  std::set<std::size_t> rest;
  for (std::size_t i = 0; i < wins.size(); ++i) {
    const FleetFinding& f = fleet.findings[i];
    if (!f.suppressed && !is_untold(f, fleet)) rest.insert(i);
  }
  std::vector<FleetFix> plan;
  Made made{fleet, job, wins, NsByRank(fleet.ranks.size())};
  double step_ns = fleet.step_ns;
  while (!rest.empty() && plan.size() < most_fixes) {
    const std::size_t best = best_fix(made, rest, step_ns);
    const double left_ns = made.step_with(best);
    if (step_ns - left_ns < least_worth * step_ns || step_ns <= 0) break;
    made.won = made.with(best);
    step_ns = left_ns;
    rest.erase(best);
    const Finding& f = fleet.findings[best].finding;
    plan.push_back({f.rule, f.fingerprint, left_ns});
  }
  return plan;
}

}  // namespace

void add_plan(const FleetMembers& members, Fleet& fleet) {
  const Job job(fleet);
  fleet.slowest = fleet.ranks[job.slowest()].rank;
  std::vector<NsByRank> wins;
  for (FleetFinding& f : fleet.findings) {
    wins.push_back(job.wins(f, members));
    tell_worth(fleet.step_ns - job.least_step(wins.back()), fleet, f);
  }
  fleet.plan = planned(fleet, job, wins);
}

}  // namespace gh
