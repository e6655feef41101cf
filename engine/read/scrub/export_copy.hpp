// The copy of an export of Nsight Systems, without what has to go.
#pragma once
#include <filesystem>

#include "base/files.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// Collects what has to go, copies the tables that schemas/scrub.toml keeps, and searches the copy.
/// Throws Error where the report is no export that can be copied, or where anything is found.
void copy_export(const std::filesystem::path& report, NewFile& out, Work& work);

}  // namespace gh::scrubbing
