// Files that the build puts into the program: rules/ and schemas/, the same in every build type.
#pragma once
#include <string_view>
#include <vector>

namespace gh {

struct EmbeddedFile {
  std::string_view path;  ///< relative to the repository: "rules/input/data-loader-starvation.lua"
  std::string_view text;
  std::string_view sha256;  ///< of the text, in base64
};

/// All of them, sorted by path.
const std::vector<EmbeddedFile>& embedded_files();

/// One of them; throws std::out_of_range if there is no such file (a bug in the program, not in its
/// input).
const EmbeddedFile& embedded(std::string_view path);
/// Its text.
std::string_view embedded_file(std::string_view path);

}  // namespace gh
