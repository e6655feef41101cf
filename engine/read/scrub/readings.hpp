// How a text may be read, for the search that proves that nothing is left in it. The remover
// writes values in the forms that it knows of; this goes the other way, from the text to what it
// means, and shares no code with it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace gh::scrubbing {

/// In lower case: ASCII, and the Latin, Greek and Cyrillic letters of two bytes. As long as before.
std::string folded(std::string_view text);

/// Reads escapes of JSON and C (\n, \x41, \101, \u0041, \U00000041, \u{41}), shells (\#), URLs
/// (%41) and HTML (&amp;, &#65;) once. False where there are none.
bool read_escapes(std::string& text);

/// The escapes of mails (=41), of which a line's end is one too; "" where there are none.
std::string read_quoted_printable(std::string_view text);

/// Without the ends of its lines.
std::string joined_lines(std::string_view text);
/// Nor what programs put around those: indents, quotation marks, backslashes, commas. "" where that
/// is nothing else.
std::string unwrapped_lines(std::string_view text);
/// Without the spaces behind groups of four digits of base64, or of eight and so on; "" without
/// any.
std::string joined_groups(std::string_view text);

/// What runs of digits may mean that are long enough for so many bytes, from each digit on that
/// may be the first of a byte: one behind the other, with NUL between them.
std::string read_base64(std::string_view text, std::size_t least_bytes);
std::string read_base32(std::string_view text, std::size_t least_bytes);
/// Signs of any kind may stand between the digits, and what marks them as hexadecimal: 0x, h.
std::string read_hexadecimal(std::string_view text, std::size_t least_bytes);
/// Of bytes that are listed as numbers, with signs of any kind between them: "72, 117, 110".
std::string read_decimal(std::string_view text, std::size_t least_bytes);
std::string read_octal(std::string_view text, std::size_t least_bytes);
/// Whether read_base64 may read anything.
bool has_digits_of_base64(std::string_view text, std::size_t least_bytes);

/// Whether three letters of ASCII stand there as UTF-16.
bool is_utf16(std::string_view text);
/// The text as UTF-16, of either order of bytes and from either byte on; "" without a NUL byte.
std::string read_utf16(std::string_view text);

}  // namespace gh::scrubbing
