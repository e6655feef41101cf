// The copy of a PyTorch trace, without what has to go.
#pragma once
#include <filesystem>

#include "base/files.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// Collects what has to go, copies the events and the keys beside them that schemas/scrub.toml
/// keeps, and searches the copy. `packed`: with gzip. Throws Error where the report is no such
/// trace, or where anything is found.
void copy_trace(const std::filesystem::path& report, NewFile& out, bool packed, Work& work);

}  // namespace gh::scrubbing
