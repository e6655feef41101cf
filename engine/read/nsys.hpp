// The importer of Nsight Systems' SQLite exports, of every version in schemas/nsys.toml.
#pragma once
#include <filesystem>

#include "trace/trace.hpp"

namespace gh {

/// Reads an export. Tables are read side by side on several read-only connections; rows that make
/// no sense (an end before its start, text where a number should be, times beyond seventy years)
/// are left out and counted in Trace::problems. Throws Error where the file is missing, empty, no
/// database, damaged, or a database of something else.
Trace read_nsys(const std::filesystem::path& path);

}  // namespace gh
