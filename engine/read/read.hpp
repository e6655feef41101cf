// The main header of this folder: reads any supported report, recognized by its contents and not
// its name. Nothing else in read/ includes it.
#pragma once
#include <filesystem>
#include <string>

#include "trace/trace.hpp"

namespace gh {

/// Reads an SQLite export of Nsight Systems or a PyTorch profiler trace. Nsight Systems' own files
/// (.nsys-rep, .qdrep) are first exported to a temporary file with `nsys`, a program's path or its
/// name on the PATH. Throws Error that says what is wrong and what to do.
Trace read_report(const std::filesystem::path& path, const std::string& nsys = "nsys");

}  // namespace gh
