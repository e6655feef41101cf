// What the host read back and waited for before it launched more GPU work, and whether that decided
// what it launched.
#pragma once
#include "rules/binding/rows_in_steps.hpp"

namespace gh {

/// `ops`: the operations within the steps.
ReadBacks find_read_backs(const Analysis& analysis, const RowSet& ops);

}  // namespace gh
