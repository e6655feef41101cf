# The program once more, of the same objects, linked statically: with archives where Debian has them (SQLite, Lua, RE2, zlib), and with what is
# compiled here of toml++, which its headers hold, and of fmt and simdjson, whose sources ./dev has unpacked.
pkg_check_modules(ARCHIVES REQUIRED sqlite3 lua5.4-c++ re2 zlib)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/tomlplusplus.cpp CONTENT "#define TOML_IMPLEMENTATION\n#include <toml++/toml.h>\n")
set(libraries_compiled_here ${CMAKE_BINARY_DIR}/tomlplusplus.cpp ${unpacked})
set_source_files_properties(${libraries_compiled_here} PROPERTIES COMPILE_OPTIONS -w)
add_executable(gh-advise-static EXCLUDE_FROM_ALL engine/cli/version.cpp ${libraries_compiled_here})
set_target_properties(gh-advise-static PROPERTIES OUTPUT_NAME gh-advise RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static UNITY_BUILD OFF)
target_include_directories(gh-advise-static SYSTEM PRIVATE $<TARGET_PROPERTY:engine,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(gh-advise-static PRIVATE $<TARGET_PROPERTY:engine,INTERFACE_COMPILE_DEFINITIONS>)  # with those of fmt and simdjson
target_compile_definitions(gh-advise-static PRIVATE GH_ADVISE_LINKED="statically")
target_link_options(gh-advise-static PRIVATE -static-pie)
target_link_directories(gh-advise-static PRIVATE ${ARCHIVES_STATIC_LIBRARY_DIRS})
target_link_libraries(gh-advise-static PRIVATE $<FILTER:$<TARGET_OBJECTS:cli>,EXCLUDE,[.][gp]ch$> $<TARGET_FILE:engine> ${ARCHIVES_STATIC_LIBRARIES})
add_dependencies(gh-advise-static engine cli)
