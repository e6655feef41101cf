// Tells what a value looks like.
#pragma once
#include <string_view>

namespace gh::scrubbing {

bool has_letter(std::string_view value);     ///< in any script
bool is_of_digits(std::string_view value);   ///< and nothing else
bool is_of_letters(std::string_view value);  ///< ASCII letters and underscores only
/// A word with few digits, if any: forward, bfloat16.
bool is_plain(std::string_view value);
/// train.py
bool is_file_name(std::string_view value);
/// An address or a long number; others (versions, lists of GPUs) reveal nothing.
bool is_number(std::string_view value);
/// Whether a name counts only without a letter or digit next to it. A name with other characters
/// besides letters also counts within words.
bool is_bounded(std::string_view name);

std::string_view trimmed(std::string_view value);   ///< removes white space around it
std::string_view unquoted(std::string_view value);  ///< removes one pair of quotes

}  // namespace gh::scrubbing
