// All the ways to read a text, for the search that proves that nothing is left in it. The remover
// writes values in the forms that it knows; this goes the other way, from the text to its meaning,
// and shares no code with it.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace gh::scrubbing {

/// The text in lower case: ASCII, and two-byte Latin, Greek and Cyrillic letters. The length stays
/// the same.
std::string folded(std::string_view text);

/// Reads escapes of JSON and C (\n, \x41, \101, \u0041, \U00000041, \u{41}),
/// shells (\#), URLs (%41) and HTML (&amp;, &#65;) once. False if there are none.
bool read_escapes(std::string& text);

/// Reads the escapes of e-mails (=41), which include line breaks; "" if there are none.
std::string read_quoted_printable(std::string_view text);

/// Its ASCII letters and digits alone: without quotes, dashes, spaces, or characters of no width.
std::string bare(std::string_view text);
/// The text without its line breaks.
std::string joined_lines(std::string_view text);
/// Also without what programs put around line breaks: indents, quotation marks, backslashes,
/// commas. "" if that makes no difference.
std::string unwrapped_lines(std::string_view text);
/// The text without the spaces after groups of four (or eight and so on) base64 digits; "" if there
/// are none.
std::string joined_groups(std::string_view text);

/// Decodes runs of digits that are long enough for this many bytes, starting at each digit that may
/// be the first of a byte. Returns all results, separated by NUL.
std::string read_base64(std::string_view text, std::size_t least_bytes);
std::string read_base32(std::string_view text, std::size_t least_bytes);
/// Any characters may separate the digits, and markers such as 0x and h are skipped.
std::string read_hexadecimal(std::string_view text, std::size_t least_bytes);
/// Reads bytes listed as decimal numbers, separated by any characters: "72, 117, 110".
std::string read_decimal(std::string_view text, std::size_t least_bytes);
std::string read_octal(std::string_view text, std::size_t least_bytes);
/// Whether read_base64 may find anything.
bool has_digits_of_base64(std::string_view text, std::size_t least_bytes);

/// Whether the text contains three ASCII letters in UTF-16.
bool is_utf16(std::string_view text);
/// Reads the text as UTF-16, in both byte orders and from even and odd bytes; "" without a NUL
/// byte.
std::string read_utf16(std::string_view text);

}  // namespace gh::scrubbing
