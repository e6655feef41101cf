// Text from untrusted files, and text for the terminal. Also includes the small headers that nearly
// everyone needs along with it: units, suggestions, patterns.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/patterns.hpp"
#include "base/quantities.hpp"
#include "base/source_line.hpp"
#include "base/spans.hpp"
#include "base/suggest.hpp"

namespace gh {

/// Turns bytes into valid UTF-8: bad bytes become U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// Makes foreign text harmless in every output; call it where the text enters the program. Bad
/// bytes become U+FFFD. Controls (including terminal escapes), line separators, direction changes
/// and zero-width characters become spaces.
std::string printable(std::string_view bytes);

/// The same, but keeps line breaks.
std::string printable_lines(std::string_view text);

/// Shortens to `width` characters with an ellipsis in the middle, because kernel names differ at
/// both ends.
std::string shortened(std::string_view text, std::size_t width);

/// A part of a sentence: words, or code, which stands between backticks.
struct SentencePart {
  std::string_view text;
  bool is_code = false;
};
/// The parts of a sentence, without the backticks around code. One that is not closed is a letter.
std::vector<SentencePart> sentence_parts(std::string_view text);
/// "`text`"; "" of nothing.
std::string as_code(const std::string& text);
/// The sentence without the backticks around code: only the page shows what is code.
std::string plain_sentence(std::string_view text);
/// `text`, whose plain sentence contains that of `marked`, with the backticks of `marked`.
std::string with_code_marked(const std::string& text, const std::string& marked);

/// A range's name without the arguments that torch.autograd.profiler.emit_nvtx and readers append:
/// "aten::mm" from "aten::mm, seq = 12, op_id = 34, sizes = [...]".
std::string_view without_arguments(std::string_view range);

/// The number of columns that text takes on a terminal, assuming one each for ASCII and for the
/// block and dash characters that we print.
std::size_t display_width(std::string_view utf8);

/// Sixteen hexadecimal digits computed from a text (FNV-1a), the same on every machine and in every
/// version.
std::string digest(std::string_view text);

/// ASCII letters in lower, or upper, case.
std::string in_lower_case(std::string_view text);
std::string in_upper_case(std::string_view text);

/// The parts between these separators, each of one character, without an empty one at the end.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

/// The last line that is not blank, made printable and shortened.
std::string last_line(std::string_view text, std::size_t width);

/// Whether a word can name a rule or a category: lowercase letters, digits and '-', at least one.
bool is_name(std::string_view word);

/// A word for a POSIX shell, quoted if necessary.
std::string shell_word(const std::string& word);

}  // namespace gh
