// Said and Estimate -> Standing: which finding comes first, and what each saves after those
// above it.
#pragma once
#include <optional>
#include <vector>

#include "rules/finding.hpp"
#include "rules/ranking.hpp"
#include "whatif/plan.hpp"

namespace gh {

/// As if there were no other finding.
Standing standing_alone(const Estimated& finding);

/// Divides savings among findings, in order of rank, that touch the same operations, calls or host
/// time: the first keeps what it saves alone, each further one only what it adds. A root comes
/// before its consequences and so keeps its own savings.
std::vector<Placed> shared(const std::vector<Placed>& ranked, const Replay& replay);

/// The fix of a root cause may also cure its consequences and then saves more: widens the range of
/// their predictions accordingly.
std::vector<Placed> widened_by_roots(std::vector<Placed> ranked);

/// Findings as reports show them, the best fix first: each alone, ranked, shared, ranked again by
/// what that leaves, and widened. `replay`: null or unable to replay, and each stands alone.
std::vector<Finding> in_order(std::vector<Estimated> findings, const Replay* replay);

/// A finding with its message: if its fix saves more than what it explains, the message says so.
Finding reported(Estimated finding, Standing standing);

/// The plan of all fixes that can be replayed, except those to try, in the order of their findings.
/// Nothing if the steps cannot be replayed.
std::optional<Plan> plan_of(const std::vector<Finding>& findings, const Replay* replay);

}  // namespace gh
