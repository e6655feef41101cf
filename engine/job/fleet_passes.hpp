// The passes of make_fleet(), in order, each in the file that is named above it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "analysis/ranks.hpp"
#include "job/fleet.hpp"

namespace gh {

/// A rank with its digest. Members stand in order of rank, parallel to Fleet::ranks.
struct FleetMember {
  const Digest* digest;
  const RankDigest* rank;
};
using FleetMembers = std::vector<FleetMember>;

/// The rule that tells of late ranks.
inline constexpr const char* late_rule = "rank-straggler";
/// The subject of its finding where no rank is late for long.
inline constexpr const char* ranks_in_turn = "ranks in turn";

/// Shares of the job's step from which a finding is an error, or a warning, as for a report.
inline constexpr double fleet_error_at = 0.20, fleet_warning_at = 0.05;

/// The value in the middle, the lower one of two. 0 where there are no values.
double middle_of(std::vector<double> values);

/// What a rank spends on a cause in a step; 0 where no rank spends any.
double cause_ns_of(const Fleet& fleet, const FleetRank& rank, std::string_view cause);

/// The rank of that number, which has to be there.
const FleetRank& rank_numbered(const Fleet& fleet, std::int64_t rank);

// ---- fleet_ranks.cpp: who is who, and what each spends its steps on

/// Leaves those out that come from another profiler, or from a job of another size, than most.
/// Throws Error where there is no majority.
void keep_one_job(std::vector<Digest>& digests, std::vector<std::string>& left_out);
/// Numbers the ranks where no digest knows its own, and sorts them. What comes twice, or cannot be
/// of the job, is left out. Throws Error where many know their ranks and many do not.
FleetMembers number_ranks(std::vector<Digest>& digests, Fleet& fleet);
void add_account(const FleetMembers& members, Fleet& fleet);

// ---- fleet_groups.cpp: whose collectives match

/// Ranks whose collectives belong to each other.
struct FleetGroup {
  std::vector<std::size_t> members;
  std::vector<Alignment> alignments;  ///< of each with the first
};
std::vector<FleetGroup> match_ranks(const FleetMembers& members);

// ---- fleet_waits.cpp: who waits for whom in collectives

void add_waits(const FleetMembers& members, const std::vector<FleetGroup>& groups, Fleet& fleet);

// ---- fleet_clocks.cpp: how times of different reports were compared, and whether they could be

void add_clocks(const FleetMembers& members, Fleet& fleet);
/// Throws Error where digests begin far apart and their collectives do not match: they are not of
/// one job.
void check_clocks(const FleetMembers& members, Fleet& fleet);

// ---- fleet_findings.cpp: what each rank's rules found, once for the job

void add_findings(const FleetMembers& members, Fleet& fleet);
void suppress_findings(const std::vector<Suppression>& suppressions, const std::string& today,
                       Fleet& fleet);
/// The best fix first, as in a report.
void sort_findings(Fleet& fleet);

// ---- fleet_stragglers.cpp: who comes late, on which nodes, and what for

void add_stragglers(Fleet& fleet);
/// The finding of `late`, the rule that tells of them; none where it is nullptr.
void add_late_finding(const Rule* late, Fleet& fleet);

// ---- fleet_unlike.cpp: ranks that differ from most

void add_unlike(const FleetMembers& members, Fleet& fleet);

// ---- fleet_plan.cpp: what fixes are worth to the job

void add_plan(const FleetMembers& members, Fleet& fleet);

}  // namespace gh
