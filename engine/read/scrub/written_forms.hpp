// How else a secret may be written.
#pragma once
#include "read/scrub/sought.hpp"

namespace gh::scrubbing {

/// Values of fewer bytes have no base64 and no hexadecimal form: those would be so short that they
/// stand elsewhere by chance.
inline constexpr std::size_t least_encoded_bytes = 6;

/// The value as it is, and as it is written in JSON, C, HTML and URLs, in base64 wherever it begins
/// in what was encoded, in hexadecimal digits, in UTF-16, in letters of the other case, and each
/// line of it.
SoughtList written_forms(const Sought& value);

/// The value, its lines and its escaped forms: for what is not known to be a secret.
SoughtList plain_forms(const Sought& value);

}  // namespace gh::scrubbing
