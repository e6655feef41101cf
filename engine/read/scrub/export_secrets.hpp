// What of an export has to go, and what may stay.
#pragma once
#include <unordered_set>
#include <vector>

#include "read/scrub/export_tables.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// What a copy has, beside whole tables and columns.
struct Kept {
  std::unordered_set<std::int64_t> strings;    ///< ids of StringIds
  std::unordered_set<std::int64_t> processes;  ///< with events; others are no one's business
};

/// A globalPid or globalTid without its thread.
inline constexpr std::int64_t process_of = 1 << 24;

/// Reads all that is private into `work`.
Kept collect_from_export(const Database& db, const std::vector<Table>& tables, Work& work);

}  // namespace gh::scrubbing
