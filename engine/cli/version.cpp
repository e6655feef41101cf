#include "cli/version.hpp"

#include <CLI/Version.hpp>
#include <fmt/format.h>
#include <lua.hpp>
#include <nlohmann/json.hpp>
#include <simdjson.h>
#include <sqlite3.h>
#include <toml++/toml.h>
#include <zlib.h>

namespace gh {

std::string version_text() {
#define GH_TEXT_OF(x) #x
#define GH_TEXT(x) GH_TEXT_OF(x)
  return fmt::format(
      "gh-advise {}\nfor {} by {}, linked {}\nwith SQLite {}, Lua {}.{}, fmt {}.{}.{}, toml++ "
      "{}.{}.{}, simdjson {}, RE2 {}, nlohmann/json {}.{}.{}, zlib {}, CLI11 {}\n",
      GH_ADVISE_VERSION, GH_ADVISE_MACHINE, GH_ADVISE_COMPILER, GH_ADVISE_LINKED, SQLITE_VERSION,
      LUA_VERSION_MAJOR "." LUA_VERSION_MINOR, LUA_VERSION_RELEASE, FMT_VERSION / 10000,
      FMT_VERSION / 100 % 100, FMT_VERSION % 100, TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH,
      GH_TEXT(SIMDJSON_VERSION), GH_ADVISE_RE2, NLOHMANN_JSON_VERSION_MAJOR,
      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH, ZLIB_VERSION, CLI11_VERSION);
}

}  // namespace gh
