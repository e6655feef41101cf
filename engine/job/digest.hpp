// A digest: the summary of one report of a job, small enough that those of thousands of ranks can
// be combined (fleet.hpp).
//
// A new field goes into a struct here, is computed in digest.cpp, and is named in digest_json.cpp.
// Describe it in schemas/digest.schema.json.
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

/// The minimum, the quartiles and the maximum of some values.
struct Quartiles {
  Ns least = 0, lower = 0, middle = 0, upper = 0, most = 0;
};
Quartiles quartiles(std::vector<Ns> values);

/// A collective on a rank's first GPU. Times are on the report's clock.
struct Collective {
  std::uint32_t name = 0;  ///< index into Collectives::names
  Ns start = 0, end = 0;
  /// For its first quarter, half, three quarters and all of it: the time in which that GPU computed
  /// nothing else.
  std::array<Ns, 4> alone{};
  /// The same for its first `ns`, interpolated between the quarters.
  double alone_within(Ns ns) const;
};

/// What a rank did in collectives, without point-to-point communication.
struct Collectives {
  struct Kind {
    std::string name;
    std::int64_t count = 0;
    Quartiles ns;
  };
  std::vector<Kind> kinds;         ///< over the whole recording, by kernel
  std::vector<std::string> names;  ///< kernels in `first`
  std::vector<Collective> first;   ///< the first ones of the recording, by end
};

/// A cause in the account of one rank.
struct CauseShare {
  double ns_per_step = 0;     ///< the mean over steps and GPUs
  Quartiles ns;               ///< over steps
  std::vector<Ns> sample_ns;  ///< parallel to RankDigest::sample_ns
};

/// One rank: a process with its GPU or GPUs.
struct RankDigest {
  std::optional<std::int64_t> rank;  ///< in the job, if known
  std::int64_t local_rank = 0;       ///< in the report, in order of GPUs
  std::vector<std::string> devices;  ///< "NVIDIA H200, 132 SMs, compute capability 9.0"
  std::string unit = window_unit;    ///< what a step is: "training step", "token", or the window
  std::int64_t step_count = 0;
  double mean_step_ns = 0;
  Quartiles step_ns;
  /// Lengths of evenly spaced steps, at most `most_sampled_steps`.
  std::vector<Ns> sample_ns;
  Span window;  ///< from the first step's start to the last one's end, on the report's clock
  std::map<std::string, CauseShare> account;  ///< causes that took any time
  std::map<std::string, FactNumber> facts;    ///< the numeric ones, without those of the account
  std::vector<Finding> findings;              ///< with evidence, before any suppression
  std::map<std::string, RuleOutcome> rules;   ///< by id
  /// The report's own plan (schemas/report.schema.json), "null" if it cannot be replayed.
  std::string plan_json;
  Collectives collectives;
};

struct Digest {
  std::string path;                      ///< of the digest itself; set when reading
  std::string report, format, producer;  ///< the report: its path as given
  std::string node;                      ///< the machine, "" if unknown
  std::int64_t world_size = 0;           ///< ranks of the job, 0 if the report does not say
  Ns epoch_ns = 0;                       ///< the report's time 0 since 1970, 0 if unknown
  std::vector<std::string> problems;     ///< what had to be skipped while reading
  std::vector<RankDigest> ranks;
};

inline constexpr std::size_t most_sampled_steps = 64, most_collectives = 512;
inline constexpr std::int64_t most_rank = 9'999'999;  ///< as in names of reports

/// Information about a report that is given rather than read from it.
struct DigestOptions {
  std::string node;  ///< overrides the report's
  /// The rank of the report's first process; overrides what the report or its name says.
  std::optional<std::int64_t> first_rank;
};

/// Digests a report. `analyse` analyzes the report, or one of its ranks if given a number. Throws
/// Error if it contains no GPU work.
Digest make_digest(const std::function<Analysis(std::optional<int> rank)>& analyse,
                   const std::string& path, const std::vector<Rule>& rules,
                   const std::map<std::string, RuleSettings>& settings,
                   const DigestOptions& options);

/// Produces the file that `gh-advise digest` writes: JSON (schemas/digest.schema.json), compressed
/// with gzip. The same digest gives the same bytes on every machine.
std::string pack_digest(const Digest& digest);

/// The JSON of a digest file, for people and tests. Throws Error if it is damaged.
std::string unpack_digest(const std::filesystem::path& path);

/// Reads what pack_digest wrote. Throws Error if it is not a digest, is damaged, or was made by a
/// version that measured differently.
Digest read_digest(const std::filesystem::path& path);

}  // namespace gh
