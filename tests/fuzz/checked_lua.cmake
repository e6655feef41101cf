# Builds Lua from source with its assertions and the checks of its C interface. Debian's build has
# neither, and would reveal a stack overflow or a wrong index only where it does harm.
# `./dev sanitize` and `./dev fuzz` fetch the source, with Debian's patches, to build/lua.
file(GLOB lua_sources ${CMAKE_SOURCE_DIR}/build/lua/src/*.c)
list(FILTER lua_sources EXCLUDE REGEX "/luac?\\.c$")
set_source_files_properties(${lua_sources} PROPERTIES LANGUAGE CXX)
add_library(checked_lua STATIC ${lua_sources})
set_target_properties(checked_lua PROPERTIES UNITY_BUILD OFF)
target_include_directories(checked_lua SYSTEM PUBLIC ${CMAKE_SOURCE_DIR}/build/lua/src)
target_compile_options(checked_lua PRIVATE -w)
target_compile_definitions(checked_lua PRIVATE LUAI_ASSERT LUA_USE_APICHECK LUA_USE_POSIX)
# Imported, like the library that it replaces: nothing has to export it.
add_library(PkgConfig::LUA INTERFACE IMPORTED)
target_link_libraries(PkgConfig::LUA INTERFACE checked_lua)
target_compile_definitions(PkgConfig::LUA INTERFACE GH_CHECKED_LUA)
