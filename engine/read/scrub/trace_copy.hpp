// Copies a PyTorch trace without what must be removed.
#pragma once
#include <filesystem>

#include "base/files.hpp"
#include "read/scrub/work.hpp"

namespace gh::scrubbing {

/// Collects what must be removed, copies the events and other keys that schemas/scrub.toml keeps,
/// and searches the copy. `packed`: compress with gzip. Throws Error if the report is not such a
/// trace, or if anything is found.
void copy_trace(const std::filesystem::path& report, NewFile& out, bool packed, Work& work);

}  // namespace gh::scrubbing
