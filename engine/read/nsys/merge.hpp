// The parts of all tables, put into one trace.
#pragma once
#include <deque>

#include "read/doubts.hpp"
#include "read/nsys/tables.hpp"
#include "read/nsys/translator.hpp"
#include "trace/trace.hpp"

namespace gh::nsys {

/// Puts all parts into the trace, one after the other, several columns at a time, with indices of
/// the trace in place of numbers of the file. A part's column is gone as soon as it has been
/// copied, so that the trace is not held twice. What could not be read becomes problems. Names that
/// stand nowhere in the file become "": the doubts are how many.
std::vector<Doubt> merge(std::deque<Table>& tables, Translator& translator, Trace& trace);

}  // namespace gh::nsys
