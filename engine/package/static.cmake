# What a statically linked program takes instead of Debian's shared libraries: archives where Debian has them (SQLite, Lua, RE2, zlib),
# headers that can be all of the library (fmt, toml++), and simdjson from Debian's source package, which ./dev unpacks.
set(toml_fmt_simdjson fmt::fmt-header-only simdjson)
set(GH_SIMDJSON ${CMAKE_SOURCE_DIR}/build/simdjson CACHE PATH "simdjson.h and simdjson.cpp")
add_library(simdjson STATIC ${GH_SIMDJSON}/simdjson.cpp)
target_include_directories(simdjson SYSTEM PUBLIC ${GH_SIMDJSON})
add_link_options(-static-pie)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
