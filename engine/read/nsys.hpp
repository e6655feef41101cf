// Imports Nsight Systems' SQLite exports, in every version listed in schemas/nsys.toml.
#pragma once
#include <filesystem>

#include "trace/trace.hpp"

namespace gh {

/// Reads an export, several tables at a time over separate read-only connections. Invalid rows (end
/// before start, text instead of a number, times beyond seventy years) are skipped and counted in
/// Trace::problems. Throws Error if the file is missing, empty, damaged, not a database, or a
/// database of something else.
Trace read_nsys(const std::filesystem::path& path);

}  // namespace gh
