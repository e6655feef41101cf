// How else a value may be written.
#pragma once
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

/// Each value as it is, and as it is written in JSON, C, HTML and URLs, in letters of the other
/// case, and line by line. Secrets also in base64, wherever they begin in what was encoded, in
/// hexadecimal digits, and in UTF-16.
SoughtList in_written_forms(const SoughtList& values);

}  // namespace gh::scrubbing
