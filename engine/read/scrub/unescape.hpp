// Decodes escapes in a text.
#pragma once
#include <string>

namespace gh::scrubbing {

/// Escapes may be nested: JSON in JSON in a URL.
inline constexpr int most_escapings = 4;

/// Reads the escapes of JSON and C (\n, \x41, \u0041), shells (\#), URLs (%41) and HTML
/// (&amp;, &#65;) once. Returns false, with the text unchanged, if there are none. Anything that is
/// not an escape stays.
bool unescape(std::string& text);

}  // namespace gh::scrubbing
