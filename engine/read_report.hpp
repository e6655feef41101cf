// Any report that we can read, recognised by what it holds and not by its name.
#pragma once
#include <filesystem>

#include "trace.hpp"

namespace gh {

/// Reads an SQLite export of Nsight Systems or a PyTorch profiler trace. Throws Error that says what is wrong and what to do.
Trace read_report(const std::filesystem::path& path);

}  // namespace gh
