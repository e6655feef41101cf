// Copies an Nsight Systems export without what must be removed.
#pragma once
#include <filesystem>

#include "base/files.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// Collects what must be removed, copies the tables that schemas/scrub.toml keeps, and searches the
/// copy. Throws Error if the report is not an export that can be copied, or if anything is found.
void copy_export(const std::filesystem::path& report, NewFile& out, Work& work);

}  // namespace gh::scrubbing
