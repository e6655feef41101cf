// The ranks of one job: how their clocks relate, and the one trace that they form together.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/classes.hpp"
#include "trace/trace.hpp"

namespace gh {

/// Matches two ranks' collectives of one name by their ends in order: the i-th of the first is the
/// (i + n)-th of the other. Profilers do not start at the same moment, so a rank may have a few
/// more at either end. `ahead` is an estimate of how far the other's clock is ahead; it decides
/// where several n fit. Nothing if no n is clearly the right one.
std::optional<std::ptrdiff_t> matching(const std::vector<Ns>& first, const std::vector<Ns>& other,
                                       std::optional<Ns> ahead);

/// Ends of collectives in order, by name.
using CollectiveEnds = std::map<std::string, std::vector<Ns>>;

/// How the collectives of one rank correspond to those of another.
struct Alignment {
  Ns ahead = 0;                                   ///< how far the other's clock is ahead
  std::map<std::string, std::ptrdiff_t> offsets;  ///< by name, as returned by `matching`
};
/// Nothing if their collectives do not match. `about`: how far the other's clock is ahead according
/// to the times since 1970.
std::optional<Alignment> align(const CollectiveEnds& first, const CollectiveEnds& other,
                               std::optional<Ns> about);

/// Joins the ranks of one job into one trace with their devices, processes, threads and streams
/// side by side, on the clock of the first. Clocks are aligned by the ends of collectives, which
/// all ranks leave at nearly the same time. If those cannot be matched, Trace::clocks_aligned is
/// false and only what happens within a rank can be judged. Devices with the same ordinal get their
/// rank's number instead.
Trace join_ranks(std::vector<Trace> ranks, const Classes& classes);

}  // namespace gh
