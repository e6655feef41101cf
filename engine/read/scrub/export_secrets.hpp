// Finds what must be removed from an export, and what may be kept.
#pragma once
#include <unordered_set>
#include <vector>

#include "read/scrub/export_tables.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// What a copy keeps, besides whole tables and columns.
struct Kept {
  std::unordered_set<std::int64_t> strings;    ///< ids of StringIds
  std::unordered_set<std::int64_t> processes;  ///< those with events; others are nobody's business
};

/// The factor of the process in a globalPid or globalTid; the rest is the thread.
inline constexpr std::int64_t process_of = 1 << 24;

/// Reads everything private into `work`.
Kept collect_from_export(const Database& db, const std::vector<Table>& tables, Work& work);

}  // namespace gh::scrubbing
