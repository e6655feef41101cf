// The passes of make_fleet() in order, each with the file that contains it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ranks.hpp"
#include "job/fleet.hpp"

namespace gh {

/// A rank with its digest. Members are in order of rank, parallel to Fleet::ranks.
struct FleetMember {
  const Digest* digest;
  const RankDigest* rank;
};
using FleetMembers = std::vector<FleetMember>;

/// The rule about late ranks.
inline constexpr const char* late_rule = "rank-straggler";
/// The subject of its finding if no rank is always the late one.
inline constexpr const char* ranks_in_turn = "ranks in turn";

/// The median, or the lower of the two middle values; 0 if there are none.
double middle_of(std::vector<double> values);

/// What a rank spends on a cause per step; 0 if no rank spends any.
double cause_ns_of(const Fleet& fleet, const FleetRank& rank, const Cause& cause);

// ---- fleet_ranks.cpp: identifies ranks, and what each spends its steps on

/// Removes digests from another profiler or a job of another size than most. Throws Error if there
/// is no majority.
void keep_one_job(std::vector<Digest>& digests, std::vector<std::string>& left_out);
/// Numbers the ranks if no digest knows its own, and sorts them. Leaves out duplicates, and ranks
/// that cannot belong to the job. Throws Error if many digests know their rank and many do not.
FleetMembers number_ranks(std::vector<Digest>& digests, Fleet& fleet);
void add_account(const FleetMembers& members, Fleet& fleet);

// ---- fleet_groups.cpp: finds ranks with matching collectives

/// Ranks whose collectives match.
struct FleetGroup {
  std::vector<std::size_t> members;
  std::vector<Alignment> alignments;  ///< of each with the first
};
std::vector<FleetGroup> match_ranks(const FleetMembers& members);

// ---- fleet_waits.cpp: finds who waits for whom in collectives

void add_waits(const FleetMembers& members, const std::vector<FleetGroup>& groups, Fleet& fleet);

// ---- fleet_clocks.cpp: how times of different reports were compared, and whether they could be

void add_clocks(const FleetMembers& members, Fleet& fleet);
/// Throws Error if digests begin far apart and their collectives do not match, so that they are not
/// from one job.
void check_clocks(const FleetMembers& members, Fleet& fleet);

// ---- fleet_findings.cpp: combines what each rank's rules found

void add_findings(const FleetMembers& members, Fleet& fleet);
void suppress_findings(const std::vector<Suppression>& suppressions, const std::string& today,
                       Fleet& fleet);
/// The best fix first, as in a report.
void sort_findings(Fleet& fleet);

// ---- fleet_stragglers.cpp: finds late ranks, their nodes, and why they are late

void add_stragglers(Fleet& fleet);
/// The finding of `late`, the rule about late ranks; none if it is nullptr.
void add_late_finding(const Rule* late, Fleet& fleet);

// ---- fleet_unlike.cpp: finds ranks that differ from most

void add_unlike(const FleetMembers& members, Fleet& fleet);

// ---- fleet_plan.cpp: finds what fixes are worth to the job

void add_plan(const FleetMembers& members, Fleet& fleet);

}  // namespace gh
