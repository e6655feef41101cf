// The ranks of one job brought together from their digests: what holds on how many of them, who
// comes late, and what the job's step is worth.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "job/digest.hpp"

namespace gh {

/// A rank among the others.
struct FleetRank {
  std::int64_t rank = 0;
  std::string node, report;  ///< node: "" where it is not known
  std::string devices;
  std::int64_t steps = 0;
  double step_ns = 0;            ///< the mean step
  std::vector<double> cause_ns;  ///< of it, parallel to Fleet::causes
  /// Of ranks whose collectives were matched with each other; -1 where they were with nobody's.
  int group = -1;
  /// A step: it waits in collectives for the last to come and computes nothing meanwhile.
  double wait_ns = 0;
  double late_ns = 0;  ///< a step: it comes after the middle rank, as far as others wait for it
  double last_fraction = 0;  ///< of the collectives matched: it came last
};

/// A finding that holds on some of the ranks.
struct FleetFinding {
  /// Of the rank on which it costs most, told of the job: what is recoverable is the job's.
  Finding finding;
  std::vector<std::int64_t> ranks;  ///< that have it
  std::int64_t looked = 0;          ///< ranks on which its rule could look
  std::int64_t worst = 0;           ///< rank
  Quartiles rank_ns;                ///< what each could win back, whatever the others do
  bool suppressed = false;
  bool only_note = false;  ///< whatever it costs: the profiler itself may be why
};

/// Ranks that differ from most in one way.
struct Unlike {
  std::string what;  ///< "GPU: NVIDIA A100, the others NVIDIA H200"
  std::vector<std::int64_t> ranks;
};

struct FleetNode {
  std::string node;
  std::int64_t ranks = 0, late = 0;  ///< late: stragglers among them
  double late_ns = 0;                ///< the middle one's
};

/// The fixes for the job, each with those before it: the step falls to no less than this.
struct FleetFix {
  std::string rule, fingerprint;
  double least_step_ns = 0;
};

struct Fleet {
  std::vector<FleetRank> ranks;  ///< in order of rank
  std::int64_t world_size = 0;   ///< ranks that the job has, as far as is known
  /// Of them, those of which there is no digest; the first 10,000.
  std::vector<std::int64_t> missing;
  bool numbered = true;             ///< false: no digest knows its rank: counted in order of names
  std::vector<std::string> causes;  ///< of the account, the one that takes most time first
  std::vector<Quartiles> account;   ///< a step's nanoseconds over ranks, parallel to `causes`
  UnitWords unit;                   ///< what a step is called, on most ranks
  double step_ns = 0;               ///< the job's: the slowest rank's mean step
  /// The rank that sets the pace: the longest step, without what it waits for others.
  std::int64_t slowest = 0;
  double waited_ns = 0;                  ///< a step: the middle rank waits for the last one
  std::vector<std::int64_t> stragglers;  ///< ranks, the latest first
  std::vector<FleetNode> nodes;          ///< in order of name
  bool collectives = false;              ///< whether any rank ran one
  std::size_t groups = 0;                ///< of ranks whose collectives match
  std::string clocks;                  ///< how times of different reports were aligned, or why not
  std::vector<FleetFinding> findings;  ///< the best fix first
  std::vector<Unlike> unlike;
  std::vector<FleetFix> plan;
  /// By id: looked where any rank could look, and then the reason says on how many not.
  std::map<std::string, RuleOutcome> rules;
  std::vector<std::pair<Suppression, SuppressionState>> suppressions;
  std::vector<std::string> left_out;  ///< digests, or ranks of them, and why
  std::vector<std::string> notes;     ///< what a reader has to know beside
};

/// Digests below these paths: files as they are, of folders all *.digest in them. Throws Error
/// where there is none.
std::vector<std::string> find_digests(const std::vector<std::string>& paths);

/// Reads digests, several at a time. What cannot be read is left out and said in `errors`.
std::vector<Digest> read_digests(const std::vector<std::string>& paths,
                                 std::vector<std::string>& errors);

/// Brings digests together. `late`: the rule that tells of late ranks, for what it says of itself;
/// nothing where it is not asked. Few that do not belong to the others, or come twice, are left
/// out. Throws Error where they are not of one job.
Fleet make_fleet(std::vector<Digest> digests, const Rule* late,
                 const std::vector<Suppression>& suppressions, const std::string& today);

/// "0-7, 12": ranks in words, at most `most` runs of them.
std::string ranks_text(std::vector<std::int64_t> ranks, std::size_t most = 8);

/// "3 of 20 ranks are missing (10-12)".
std::string fleet_missing_text(const Fleet& fleet);

}  // namespace gh
