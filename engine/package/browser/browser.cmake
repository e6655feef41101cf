# The program as WebAssembly, for browser.html: all of it runs on one thread, in a worker. Debian has no libraries for it, so they are compiled
# from Debian's sources, which ./dev unpacks, and from those of Debian's headers that are all of a library.
set(sources ${CMAKE_SOURCE_DIR}/build)
set(headers ${CMAKE_BINARY_DIR}/headers)  # not /usr/include, which is this machine's
file(MAKE_DIRECTORY ${headers})
foreach(folder CLI fmt nlohmann toml++)
  file(CREATE_LINK /usr/include/${folder} ${headers}/${folder} SYMBOLIC)
endforeach()

add_compile_options(-fwasm-exceptions)
add_link_options(-fwasm-exceptions -sMODULARIZE -sEXPORT_NAME=gh_advise -sENVIRONMENT=worker,node -sINVOKE_RUN=0 -sEXPORTED_RUNTIME_METHODS=FS,callMain
  -sFORCE_FILESYSTEM -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB -sTOTAL_STACK=8MB)

# library NAME FOLDER SOURCE...: compiled without warnings, which are its authors' to read.
function(library name folder)
  add_library(${name} STATIC ${ARGN})
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${name} SYSTEM PUBLIC ${folder})
  target_compile_options(${name} PRIVATE -w -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)  # the same bytes wherever they are compiled
endfunction()

enable_language(C)
library(sqlite ${sources}/sqlite ${sources}/sqlite/sqlite3.c)
target_compile_definitions(sqlite PRIVATE SQLITE_THREADSAFE=0 SQLITE_OMIT_LOAD_EXTENSION)
file(GLOB zlib_sources ${sources}/zlib/*.c)
library(zlib ${sources}/zlib ${zlib_sources})
target_compile_definitions(zlib PUBLIC HAVE_UNISTD_H)
file(GLOB lua_sources ${sources}/lua/src/*.c)
list(FILTER lua_sources EXCLUDE REGEX "/luac?\\.c$")
set_source_files_properties(${lua_sources} PROPERTIES LANGUAGE CXX)  # so that exceptions may cross it
library(lua ${sources}/lua/src ${lua_sources})
target_include_directories(lua SYSTEM PUBLIC ${CMAKE_CURRENT_LIST_DIR})
file(GLOB re2_sources ${sources}/re2/re2/*.cc)
file(STRINGS ${sources}/re2/Makefile re2_version REGEX "^SONAME=")
string(REPLACE "SONAME=" "ABI " re2_version "${re2_version}")
library(re2 ${sources}/re2 ${re2_sources} ${sources}/re2/util/rune.cc ${sources}/re2/util/strutil.cc)
library(simdjson ${sources}/simdjson ${sources}/simdjson/simdjson.cpp)

add_library(header_only INTERFACE)
target_include_directories(header_only SYSTEM INTERFACE ${headers})
target_compile_definitions(header_only INTERFACE FMT_HEADER_ONLY)
add_library(no_processes STATIC ${CMAKE_CURRENT_LIST_DIR}/no_processes.c)
set(libraries no_processes sqlite lua re2 simdjson zlib header_only)
# After the libraries, which use nothing that is missing.
add_compile_options("SHELL:-include ${CMAKE_CURRENT_LIST_DIR}/missing_from_libcxx.hpp")
