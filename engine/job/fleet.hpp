// Combines the digests of a job's ranks: on how many of them a finding holds, which ranks are late,
// and what fixes are worth to the job's step.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "job/digest.hpp"

namespace gh {

/// One rank in the job.
struct FleetRank {
  std::int64_t rank = 0;
  std::string node, report;  ///< node: "" if unknown
  std::string devices;
  std::int64_t steps = 0;
  double step_ns = 0;            ///< the mean step
  std::vector<double> cause_ns;  ///< part of it, parallel to Fleet::causes
  /// The group of ranks with matching collectives; -1 if it matches none.
  int group = -1;
  /// Per step: how long it waits in collectives for the last rank, computing nothing.
  double wait_ns = 0;
  double late_ns =
      0;  ///< per step: how much later than the middle rank it comes, as far as others wait for it
  double last_fraction = 0;  ///< share of matched collectives to which it came last
};

/// A finding on some of the ranks.
struct FleetFinding {
  /// The finding of the rank where it costs most, worded for the job; recoverable time is the
  /// job's.
  Finding finding;
  std::vector<std::int64_t> ranks;  ///< that have it
  std::int64_t looked = 0;          ///< ranks on which its rule could be checked
  std::int64_t worst = 0;           ///< rank
  Quartiles rank_ns;                ///< what each rank could save, ignoring the others
  bool suppressed = false;
  bool only_note = false;  ///< whatever it costs, because the profiler itself may be the reason
};

/// Ranks that differ from most others in one way.
struct Unlike {
  std::string what;  ///< "GPU: NVIDIA A100, the others NVIDIA H200"
  std::vector<std::int64_t> ranks;
};

struct FleetNode {
  std::string node;
  std::int64_t ranks = 0, late = 0;  ///< late: stragglers among them
  double late_ns = 0;                ///< the middle one's
};

/// The fixes for the job, each after those before it: the step falls to no less than this.
struct FleetFix {
  std::string rule, fingerprint;
  double least_step_ns = 0;
};

struct Fleet {
  std::vector<FleetRank> ranks;  ///< in order of rank
  std::int64_t world_size = 0;   ///< ranks in the job, as far as known
  /// Ranks without a digest; the first 10,000.
  std::vector<std::int64_t> missing;
  bool numbered =
      true;  ///< false: no digest knows its rank, so they are numbered in order of names
  std::vector<std::string> causes;  ///< of the account, the most expensive first
  std::vector<Quartiles> account;   ///< a step's nanoseconds over ranks, parallel to `causes`
  UnitWords unit;                   ///< what a step is called, on most ranks
  double step_ns = 0;               ///< the job's: the slowest rank's mean step
  /// The rank that sets the pace: the longest step without waiting for others.
  std::int64_t slowest = 0;
  double waited_ns = 0;  ///< per step: how long the middle rank waits for the last one
  std::vector<std::int64_t> stragglers;  ///< ranks, the latest first
  std::vector<FleetNode> nodes;          ///< in order of name
  bool collectives = false;              ///< whether any rank ran one
  std::size_t groups = 0;                ///< of ranks whose collectives match
  std::string clocks;                  ///< how times of different reports were aligned, or why not
  std::vector<FleetFinding> findings;  ///< the best fix first
  std::vector<Unlike> unlike;
  std::vector<FleetFix> plan;
  /// By id: looked if any rank could be checked; the reason then says on how many it could not.
  std::map<std::string, RuleOutcome> rules;
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
  std::vector<std::string> left_out;  ///< digests, or ranks of them, and why
  std::vector<std::string> notes;     ///< what else a reader must know
};

/// Finds digests: the given files, and *.digest below the given folders. Throws Error if there are
/// none.
std::vector<std::string> find_digests(const std::vector<std::string>& paths);

/// Reads digests, several at a time. Skips those that cannot be read and adds a message to
/// `errors`.
std::vector<Digest> read_digests(const std::vector<std::string>& paths,
                                 std::vector<std::string>& errors);

/// Combines digests. `late` is the rule about late ranks, whose texts describe the finding; null if
/// it is disabled. A few digests that do not belong to the others, or appear twice, are left out.
/// Throws Error if they are not from one job.
Fleet make_fleet(std::vector<Digest> digests, const Rule* late,
                 const std::vector<Suppression>& suppressions, const std::string& today);

/// The rank with that number, which must exist.
const FleetRank& rank_numbered(const Fleet& fleet, std::int64_t rank);

/// "0-7, 12": formats ranks, as at most `most` ranges.
std::string ranks_text(std::vector<std::int64_t> ranks, std::size_t most = 8);

/// "3 of 20 ranks are missing (10-12)".
std::string fleet_missing_text(const Fleet& fleet);

}  // namespace gh
