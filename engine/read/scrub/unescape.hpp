// What a text means that is written with escapes.
#pragma once
#include <string>

namespace gh::scrubbing {

/// Escapes may be escaped again: JSON in JSON in a URL.
inline constexpr int most_escapings = 4;

/// Reads the escapes of JSON and C (\n, \x41, \u0041), shells (\#), URLs (%41) and HTML (&amp;,
/// &#65;) once.
/// False, and the text as it was, where there are none. What is no escape stays.
bool unescape(std::string& text);

}  // namespace gh::scrubbing
