// Text from files that anybody may have made, and text that people read on a terminal. The small
// subjects that nearly everybody needs beside it come along: units, suggestions, patterns.
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

/// Valid UTF-8: bad bytes become U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// Foreign text made harmless in every output; applied where it enters. Valid UTF-8 of what can be
/// seen: bad bytes become U+FFFD; controls (terminal escapes too), ends of lines, and what turns
/// text around or has no width become a space.
std::string printable(std::string_view bytes);

/// The same, but its lines stay lines.
std::string printable_lines(std::string_view text);

/// Shortened to `width` characters with an ellipsis in the middle; kernel names differ at both
/// ends.
std::string shortened(std::string_view text, std::size_t width);

/// A range's name without what torch.autograd.profiler.emit_nvtx and readers append: "aten::mm" of
/// "aten::mm, seq = 12, op_id = 34, sizes = [...]".
std::string_view without_arguments(std::string_view range);

/// The characters that text takes on a terminal, ASCII and the block and dash characters that we
/// print counted as one each.
std::size_t display_width(std::string_view utf8);

/// Sixteen hexadecimal digits of a text (FNV-1a), the same on every machine and in every version.
std::string digest(std::string_view text);

/// Whether it can name a rule or a category: lower-case letters, digits and '-', at least one.
bool is_name(std::string_view word);

}  // namespace gh
