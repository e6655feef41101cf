// Several files of one job: which files are its ranks, and the one trace that they make together.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "classes.hpp"
#include "trace.hpp"

namespace gh {

/// What a file says of its place in a job, without reading all of it.
struct Place {
  std::string job;            ///< "" where it says nothing
  std::int64_t rank = 0;
  std::int64_t world_size = 0;  ///< 0 where it says nothing
  std::optional<double> begins_s;  ///< since 1970
  bool by_name = false;       ///< rather than by what the file says itself
};
Place place_of(const std::string& path);

/// Groups files by the job that they belong to, in the order given. Ranks of one job lie in one folder and are either PyTorch traces
/// whose distributedInfo has the same world size, other ranks, and begins within a minute, or files whose names differ in the number
/// after "rank" only. Any other file is a job of its own; so is one that cannot be read, which reading it will say.
std::vector<std::vector<std::string>> find_jobs(const std::vector<std::string>& paths);

/// Which of two ranks' collectives of one name are the same, told by their ends in order: the i-th of the first is the (i + n)-th of the
/// other. Profilers do not start at one moment, so a rank may have a few more at either end. `ahead` is how far the other's clock is
/// thought to be ahead; it decides where several n fit. Nothing where no n is clearly the one.
std::optional<std::ptrdiff_t> matching(const std::vector<Ns>& first, const std::vector<Ns>& other, std::optional<Ns> ahead);

/// Ends of collectives in order, by name.
using CollectiveEnds = std::map<std::string, std::vector<Ns>>;

/// How the collectives of one rank belong to those of another.
struct Alignment {
  Ns ahead = 0;                                    ///< how far the other's clock is ahead
  std::map<std::string, std::ptrdiff_t> offsets;   ///< by name, as `matching` tells
};
/// Nothing where their collectives do not tell. `about` is what the times since 1970 say of how far the other's clock is ahead.
std::optional<Alignment> align(const CollectiveEnds& first, const CollectiveEnds& other, std::optional<Ns> about);

/// The ranks of one job as one trace with their devices, processes, threads and streams side by side, on the clock of the first.
/// Clocks are aligned by the ends of collectives, which no rank leaves much before another; where those cannot be matched,
/// Trace::clocks_aligned is false and only what happens within a rank can be judged. Devices of one number take that of their rank.
Trace joined(std::vector<Trace> ranks, const Classes& classes);

}  // namespace gh
