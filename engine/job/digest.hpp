// A digest: what one report of a job comes to, small enough that those of thousands of ranks can be
// brought together (fleet.hpp).
//
// A new field goes into a struct here, is computed in digest.cpp, and is written and read in
// digest_json.cpp, where both stand beside each other; schemas/digest.schema.json describes it.
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gate/capture.hpp"
#include "rules/rules.hpp"

namespace gh {

/// The least, the quarters and the most of some values.
struct Quartiles {
  Ns least = 0, lower = 0, middle = 0, upper = 0, most = 0;
};
Quartiles quartiles(std::vector<Ns> values);

/// A collective on a rank's first GPU. Times are on the report's own clock.
struct Collective {
  std::uint32_t name = 0;  ///< index into Collectives::names
  Ns start = 0, end = 0;
  /// Of its first quarter, half, three quarters and all of it, the time in which that GPU computed
  /// nothing beside it.
  std::array<Ns, 4> alone{};
  /// The same of its first `ns`, between the quarters in proportion.
  double alone_within(Ns ns) const;
};

/// What a rank did in collectives, those from one rank to one other aside.
struct Collectives {
  struct Kind {
    std::string name;
    std::int64_t count = 0;
    Quartiles ns;
  };
  std::vector<Kind> kinds;         ///< of all of the recording, by kernel
  std::vector<std::string> names;  ///< kernels of `first`
  std::vector<Collective> first;   ///< the first ones of the recording, in order of their ends
};

/// A cause of the account on one rank.
struct CauseShare {
  double ns_per_step = 0;     ///< the mean over steps and GPUs
  Quartiles ns;               ///< over steps
  std::vector<Ns> sample_ns;  ///< parallel to RankDigest::sample_ns
};

/// One rank: a process, with its GPU or GPUs.
struct RankDigest {
  std::optional<std::int64_t> rank;  ///< in the job, where that is known
  std::int64_t local_rank = 0;       ///< in the report, in order of GPUs
  std::vector<std::string> devices;  ///< "NVIDIA H200, 132 SMs, compute capability 9.0"
  std::string unit = window_unit;    ///< what a step is: "training step", "token", or the window
  std::int64_t step_count = 0;
  double mean_step_ns = 0;
  Quartiles step_ns;
  /// Lengths of steps that were evenly chosen, at most `most_sampled_steps`.
  std::vector<Ns> sample_ns;
  Span window;  ///< from the first step's begin to the last one's end, on the report's clock
  std::map<std::string, CauseShare> account;  ///< causes that took any time
  std::map<std::string, FactNumber> facts;    ///< the numeric ones, those of the account aside
  std::vector<Finding> findings;              ///< with their evidence, before any exception
  std::map<std::string, RuleOutcome> rules;   ///< by id
  /// The report's own plan (schemas/report.schema.json), "null" where it cannot be replayed.
  std::string plan_json;
  Collectives collectives;
};

struct Digest {
  std::string path;                      ///< of the digest itself; set on reading
  std::string report, format, producer;  ///< the report: its path as it was given
  std::string node;                      ///< the machine, "" where that is not known
  std::int64_t world_size = 0;           ///< ranks of the job, 0 where the report does not say
  Ns epoch_ns = 0;  ///< what time 0 of the report is since 1970, 0 where it does not say
  std::vector<std::string> problems;  ///< what had to be left out on reading
  std::vector<RankDigest> ranks;
};

inline constexpr std::size_t most_sampled_steps = 64, most_collectives = 512;
inline constexpr std::int64_t most_rank = 9'999'999;  ///< as in names of reports

/// What is said of a report rather than found in it.
struct DigestOptions {
  std::string node;  ///< instead of what the report says
  /// The rank of the report's first process, instead of what the report or its name says.
  std::optional<std::int64_t> first_rank;
};

/// The digest of a report. `analyse` analyses it, or one of its ranks where a number is given.
/// Throws Error where it holds no GPU work.
Digest make_digest(const std::function<Analysis(std::optional<int> rank)>& analyse,
                   const std::string& path, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings,
                   const DigestOptions& options);

/// As what `gh-advise digest` writes: JSON (schemas/digest.schema.json), packed by gzip. The same
/// bytes for the same digest on every machine.
std::string pack_digest(const Digest& digest);

/// The JSON of a packed digest, for people and tests. Throws Error where it is damaged.
std::string unpack_digest(const std::filesystem::path& path);

/// Reads what pack_digest made. Throws Error where it is none, a damaged one, or made by an
/// analysis that measured otherwise.
Digest read_digest(const std::filesystem::path& path);

}  // namespace gh
