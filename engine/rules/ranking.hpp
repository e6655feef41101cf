// Decides which finding comes first.
#pragma once
#include <vector>

#include "rules/finding.hpp"

namespace gh {

/// A finding, and where it stands so far.
struct Placed {
  const Estimated* finding = nullptr;
  Standing standing;
};

/// Sorts findings: first those that cast doubt on the report, notes last, then by savings, then by
/// rule and subject, so that the order is total. Consequences come after their root, and a root
/// weighs as much as its heaviest consequence. Clears a `follows_from` that no finding above a note
/// confirms.
std::vector<Placed> ranked(std::vector<Placed> placed);

}  // namespace gh
