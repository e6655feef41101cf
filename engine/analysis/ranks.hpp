// The ranks of one job: how their clocks relate, and the one trace that they make together.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Which of two ranks' collectives of one name are the same, told by their ends in order: the i-th
/// of the first is the (i + n)-th of the other. Profilers do not start at one moment, so a rank may
/// have a few more at either end. `ahead` is how far the other's clock is thought to be ahead; it
/// decides where several n fit. Nothing where no n is clearly the one.
std::optional<std::ptrdiff_t> matching(const std::vector<Ns>& first, const std::vector<Ns>& other,
                                       std::optional<Ns> ahead);

/// Ends of collectives in order, by name.
using CollectiveEnds = std::map<std::string, std::vector<Ns>>;

/// How the collectives of one rank belong to those of another.
struct Alignment {
  Ns ahead = 0;                                   ///< how far the other's clock is ahead
  std::map<std::string, std::ptrdiff_t> offsets;  ///< by name, as `matching` tells
};
/// Nothing where their collectives do not tell. `about` is what the times since 1970 say of how far
/// the other's clock is ahead.
std::optional<Alignment> align(const CollectiveEnds& first, const CollectiveEnds& other,
                               std::optional<Ns> about);

/// The ranks of one job as one trace with their devices, processes, threads and streams side by
/// side, on the clock of the first. Clocks are aligned by the ends of collectives, which no rank
/// leaves much before another; where those cannot be matched, Trace::clocks_aligned is false and
/// only what happens within a rank can be judged. Devices of one number take that of their rank.
Trace join_ranks(std::vector<Trace> ranks, const Classes& classes);

}  // namespace gh
