// Any report that we can read, recognised by what it holds and not by its name.
#pragma once
#include <filesystem>
#include <string>

#include "trace/trace.hpp"

namespace gh {

/// Reads an SQLite export of Nsight Systems or a PyTorch profiler trace. What Nsight Systems itself
/// writes (.nsys-rep, .qdrep) is first exported to a temporary file by `nsys`, a program's path or
/// its name on the PATH. Throws Error that says what is wrong and what to do.
Trace read_report(const std::filesystem::path& path, const std::string& nsys = "nsys");

/// Whether a file begins as PyTorch's traces do: JSON, or packed with gzip.
bool is_torch_trace(const std::filesystem::path& path);

}  // namespace gh
