// Which operations of several GPUs are one collective, in which they wait for each other.
#pragma once
#include <cstddef>
#include <vector>

#include "analysis/analysis.hpp"

namespace gh {

/// One collective, or one message: the operation of each of its members, on different devices. All
/// had arrived before the first one left.
using Meeting = std::vector<Row>;

/// Those of operations from `first` up to `end`. Streams that run collectives of one name at the
/// same times are of one group, unless the report says otherwise: the i-th on one is the i-th on
/// each other. Left out are collectives with members that the report does not hold, and those of
/// which it cannot be told which belong together.
std::vector<Meeting> meetings(const Analysis& analysis, Row first, Row end);

}  // namespace gh
