// Bytes, ASCII letters and digits, independent of the locale.
#pragma once
#include <cstdint>

#include "base/text.hpp"

namespace gh::scrubbing {

constexpr std::uint32_t byte(char c) { return static_cast<unsigned char>(c); }  ///< 0 to 255

inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }
inline bool is_word(char c) { return is_letter_or_digit(c) || c == '_'; }

}  // namespace gh::scrubbing
