// Other ways to write a value.
#pragma once
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

/// Each value as it is, as written in JSON, C, HTML and URLs, in the other case, and line by line.
/// Secrets also in base64 (at any offset in what was encoded), in hexadecimal digits, and in
/// UTF-16.
SoughtList in_written_forms(const SoughtList& values);

}  // namespace gh::scrubbing
