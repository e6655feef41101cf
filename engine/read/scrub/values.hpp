// What a value looks like.
#pragma once
#include <string_view>

namespace gh::scrubbing {

bool has_letter(std::string_view value);     ///< of any script
bool is_of_digits(std::string_view value);   ///< and of nothing else
bool is_of_letters(std::string_view value);  ///< of ASCII, and underscores
/// A word, of few digits if any: forward, bfloat16.
bool is_plain(std::string_view value);
/// train.py
bool is_file_name(std::string_view value);
/// An address or a long number; others (versions, lists of GPUs) tell nothing.
bool is_number(std::string_view value);
/// Whether a name counts only where no letter and no digit is beside it: one of letters and others
/// also counts within words.
bool is_bounded(std::string_view name);

std::string_view trimmed(std::string_view value);   ///< of white space
std::string_view unquoted(std::string_view value);  ///< of one pair of quotes

}  // namespace gh::scrubbing
