// The search that proves that a copy holds none of what has to go.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "read/scrub/secrets.hpp"

namespace gh::scrubbing {

/// Throws Error: something would be left `where`, so that nothing is written. `variable` is whose
/// value it is, or "".
[[noreturn]] void fail_left(const std::filesystem::path& report, std::string_view where,
                            const std::string& variable);

/// Searches the bytes of what was written, unpacked where it is packed; fails as fail_left does.
void search_bytes(const std::filesystem::path& written, const std::filesystem::path& report,
                  const Secrets& secrets);

}  // namespace gh::scrubbing
