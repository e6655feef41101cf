// Finds the operations of several GPUs that are one collective, in which they wait for each other.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// One collective or message: the operation of each member, on different devices. All had arrived
/// before the first one left.
using Meeting = std::vector<Row>;

/// The meetings among the operations from `first` up to `end`. Streams that run collectives of one
/// name at the same times are one group unless the report says otherwise: the i-th collective on
/// one is the i-th on each other. Omits collectives that have members outside the report, and those
/// whose members cannot be matched.
std::vector<Meeting> meetings(const Analysis& analysis, Row first, Row end);

}  // namespace gh
