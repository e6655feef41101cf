# cmake -DOUTPUT=embedded.cpp -DROOT=<source dir> -DFILES=<paths relative to ROOT, separated by |> -P embed.cmake
string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" text)
  # A compiler need not take a literal of more than 64 KiB: pieces, which it joins.
  string(LENGTH "${text}" length)
  set(pieces "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 12000 piece)
    string(APPEND pieces "R\"embedded(${piece})embedded\" ")
    math(EXPR at "${at} + 12000")
  endwhile()
  if(length EQUAL 0)
    set(pieces "\"\"")
  endif()
  string(APPEND entries "    {\"${file}\", std::string_view(${pieces})},\n")
endforeach()
file(WRITE "${OUTPUT}.new" "// Made by embed.cmake.
#include \"base/embedded.hpp\"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gh {
const std::vector<EmbeddedFile>& embedded_files() {
  static const std::vector<EmbeddedFile> files = {
${entries}  };
  return files;
}
std::string_view embedded_file(std::string_view path) {
  for (const EmbeddedFile& f : embedded_files())
    if (f.path == path) return f.text;
  throw std::out_of_range(\"not embedded: \" + std::string(path));
}
}  // namespace gh
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
