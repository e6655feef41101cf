// Signs of damage in tables, found before their rows are interpreted.
#pragma once
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "read/doubts.hpp"
#include "read/nsys/tables.hpp"

namespace gh::nsys {

/// For each table, how many rows are invalid, and how many are missing between others (exports
/// number rows consecutively). For kernels, also how many have two names that disagree.
std::vector<Doubt> doubts_of_tables(const std::deque<Table>& tables, const Database& db);

/// Kinds of tables that somebody has emptied. Adds a doubt for each, unless the report was cut to
/// part of its time. `nsys export` leaves out empty tables, or (--lazy=false) writes many of them.
std::set<std::string> emptied_kinds(const std::deque<Table>& tables, const Database& db,
                                    Trace& trace);

}  // namespace gh::nsys
