// What the host read back and waited for before it gave the GPU more to do, and whether that
// decided what it gave.
#pragma once
#include "rules/binding/rows_in_steps.hpp"

namespace gh {

/// `ops`: the operations within the steps.
ReadBacks find_read_backs(const Analysis& analysis, const RowSet& ops);

}  // namespace gh
