// Source lines mentioned in names of ranges and operators.
#pragma once
#include <string>
#include <string_view>

namespace gh {

/// A line of the program's source.
struct SourceLine {
  std::string file;  ///< as named in the text; "" if there is none
  int line = 0;
};

/// The first "train.py:123" or "train.py(123)" in a text, ignoring files of installed packages
/// (site-packages, torch/).
SourceLine source_line(std::string_view text);

}  // namespace gh
