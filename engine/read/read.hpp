// The door of this folder: any report that we can read, recognised by what it holds and not by its
// name. Nothing else in read/ includes it.
#pragma once
#include <filesystem>
#include <string>

#include "trace/trace.hpp"

namespace gh {

/// Reads an SQLite export of Nsight Systems or a PyTorch profiler trace. What Nsight Systems itself
/// writes (.nsys-rep, .qdrep) is first exported to a temporary file by `nsys`, a program's path or
/// its name on the PATH. Throws Error that says what is wrong and what to do.
Trace read_report(const std::filesystem::path& path, const std::string& nsys = "nsys");

}  // namespace gh
