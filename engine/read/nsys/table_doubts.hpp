// What tables tell against themselves, before anything is known of what their rows mean.
#pragma once
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "read/doubts.hpp"
#include "read/nsys/tables.hpp"

namespace gh::nsys {

/// How many rows of each table made no sense; how many are gone from between others, since rows are
/// numbered one after the other when they are exported; and how many kernels have two names that
/// differ.
std::vector<Doubt> doubts_of_tables(const std::deque<Table>& tables, const Database& db);

/// Kinds of tables that somebody has emptied, and a doubt for each where the report was not cut to
/// a part of its time. `nsys export` writes no empty ones, or (--lazy=false) a great many.
std::set<std::string> emptied_kinds(const std::deque<Table>& tables, const Database& db,
                                    Trace& trace);

}  // namespace gh::nsys
