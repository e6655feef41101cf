// Merges the parts of all tables into one trace.
#pragma once
#include <deque>

#include "read/doubts.hpp"
#include "read/nsys/tables.hpp"
#include "read/nsys/translator.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Appends all parts to the trace, several columns at a time, replacing numbers of the file by
/// indices of the trace. Frees each part's column right after copying it, so that the trace is
/// never in memory twice. What could not be read becomes problems. Names that are missing from the
/// file become "", and the returned doubts count them.
std::vector<Doubt> merge(std::deque<Table>& tables, Translator& translator, Trace& trace);

}  // namespace gh::nsys
