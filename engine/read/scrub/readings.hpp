// How a text may be read, for the search that proves that nothing is left in it. What removes
// writes values in the forms that it knows of; this goes the other way, from the text to what it
// means, and shares no code with it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace gh::scrubbing {

/// In lower case: ASCII, and the Latin, Greek and Cyrillic letters of two bytes. As long as before.
std::string folded(std::string_view text);

/// Reads escapes of JSON and C (\n, \x41, \u0041), URLs (%41) and HTML (&amp;, &#65;) once. False
/// where there are none.
bool read_escapes(std::string& text);

/// Without the ends of its lines.
std::string joined_lines(std::string_view text);

/// What runs of digits may mean that are long enough for so many bytes, from each digit on that
/// may be the first of a byte: one behind the other, with NUL between them.
std::string read_base64(std::string_view text, std::size_t least_bytes);
/// Spaces, colons, hyphens and "0x" may stand between the digits.
std::string read_hexadecimal(std::string_view text, std::size_t least_bytes);
/// The text as UTF-16, of either order of bytes and from either byte on; "" without a NUL byte.
std::string read_utf16(std::string_view text);

}  // namespace gh::scrubbing
