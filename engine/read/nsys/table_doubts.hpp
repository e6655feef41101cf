// What tables tell against themselves, before anything is known of what their rows mean.
#pragma once
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "read/doubts.hpp"
#include "read/nsys/tables.hpp"

namespace gh::nsys {

/// Adds how many rows of each table made no sense; how many are gone, since rows are numbered one
/// after the other when they are exported; and how many kernels have two names that differ.
void add_doubts(const std::deque<Table>& tables, const Database& db, std::vector<Doubt>& doubts);

/// Kinds of tables that somebody has emptied, and a problem for each. `nsys export` writes no empty
/// ones, or (--lazy=false) a great many.
std::set<std::string> emptied_kinds(const std::deque<Table>& tables,
                                    std::vector<std::string>& problems);

}  // namespace gh::nsys
