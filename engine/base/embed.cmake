# cmake -DOUTPUT=embedded.cpp -DROOT=<source dir> -DFILES=<paths relative to ROOT, separated by |> -DPACKED=<path of a .gz> -P embed.cmake

# The SHA-256 of a file in base64, as a Content-Security-Policy lists it.
function(sha256_base64 path result)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  file(SHA256 "${path}" hex)
  string(APPEND hex 00)  # base64 turns three bytes into four digits, and 32 bytes are one short
  set(text "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING ${hex} ${at} 6 bytes)
    foreach(shift 18 12 6 0)
      math(EXPR digit "(0x${bytes} >> ${shift}) & 63")
      string(SUBSTRING ${digits} ${digit} 1 digit)
      string(APPEND text ${digit})
    endforeach()
  endforeach()
  string(SUBSTRING ${text} 0 43 text)
  set(${result} "${text}=" PARENT_SCOPE)
endfunction()

string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(entries "")
foreach(file IN LISTS files)
  file(READ "${ROOT}/${file}" text)
  # Compilers need not accept a literal longer than 64 KiB, so emit pieces that they join.
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
  sha256_base64("${ROOT}/${file}" sha256)
  string(APPEND entries "    {\"${file}\", std::string_view(${pieces}), \"${sha256}\"},\n")
endforeach()
# What is packed is no text, and becomes an array of its bytes.
cmake_path(GET PACKED FILENAME name)
file(READ "${PACKED}" bytes HEX)
set(pieces "")
string(LENGTH "${bytes}" length)
set(at 0)
while(at LESS length)
  string(SUBSTRING "${bytes}" ${at} 8000 piece)
  string(REGEX REPLACE "(..)" "0x\\1," piece "${piece}")
  string(APPEND pieces "${piece}\n")
  math(EXPR at "${at} + 8000")
endwhile()
sha256_base64("${PACKED}" sha256)
string(APPEND entries "    {\"${name}\", std::string_view(reinterpret_cast<const char*>(packed), sizeof packed), \"${sha256}\"},\n")
file(WRITE "${OUTPUT}.new" "// Made by embed.cmake.
#include \"base/embedded.hpp\"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace gh {
static const unsigned char packed[] = {
${pieces}};
const std::vector<EmbeddedFile>& embedded_files() {
  static const std::vector<EmbeddedFile> files = {
${entries}  };
  return files;
}
const EmbeddedFile& embedded(std::string_view path) {
  for (const EmbeddedFile& f : embedded_files())
    if (f.path == path) return f;
  throw std::out_of_range(\"not embedded: \" + std::string(path));
}
std::string_view embedded_file(std::string_view path) { return embedded(path).text; }
}  // namespace gh
")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
