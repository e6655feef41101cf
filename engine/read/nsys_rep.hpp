// Nsight Systems' own files (.nsys-rep, .qdrep). Only its own program can read them, so that
// program is run to export the report.
#pragma once
#include <filesystem>
#include <string>

#include "trace/trace.hpp"

namespace gh {

/// Exports a report with `nsys`, a program's path or its name on the PATH, to a temporary file, and
/// reads that like read_nsys. If the program cannot be run or fails, throws Error that names the
/// report and how to export it by hand.
Trace read_nsys_rep(const std::filesystem::path& path, const std::string& nsys);

}  // namespace gh
