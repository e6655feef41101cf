// require: the Lua libraries of the program, which its rules share and a team's rules may use.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "base/suggest.hpp"
#include "base/text.hpp"
#include "rules/sandbox.hpp"
#include "rules/sandbox/library.hpp"

namespace gh {
namespace {

constexpr const char* loaded_key = "gh.libraries";  // in Lua's registry: what each returned

// By name, the files "rules/CATEGORY/NAME.lib.lua".
std::vector<std::pair<std::string, const EmbeddedFile*>> libraries() {
  std::vector<std::pair<std::string, const EmbeddedFile*>> found;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.ends_with(library_suffix)) continue;
    std::string name(file.path.substr(file.path.rfind('/') + 1));
    name.resize(name.size() - library_suffix.size());
    found.emplace_back(std::move(name), &file);
  }
  return found;
}

const EmbeddedFile& library_file(const std::string& wanted) {
  std::vector<std::string> names;
  for (const auto& [name, file] : libraries()) {
    if (name == wanted) return *file;
    names.push_back(name);
  }
  throw Error(
      fmt::format("there is no library '{}'{}", printable(wanted), did_you_mean(wanted, names)));
}

// Compiled when first required, for all sandboxes.
LuaCode library_code(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, LuaCode> compiled;
  const std::lock_guard lock(mutex);
  const auto known = compiled.find(name);
  if (known != compiled.end()) return known->second;
  const EmbeddedFile& file = library_file(name);
  return compiled[name] = LuaSandbox().compile(file.text, file.path);
}

}  // namespace

std::vector<std::string> library_names() {
  std::vector<std::string> names;
  for (const auto& [name, file] : libraries()) names.push_back(name);
  return names;
}

std::string_view library_text(const std::string& name) { return library_file(name).text; }

void lua_require(lua_State* lua, const std::string& name) {
  luaL_getsubtable(lua, LUA_REGISTRYINDEX, loaded_key);
  const int known = lua_getfield(lua, -1, name.c_str());
  if (known == LUA_TBOOLEAN) throw Error(fmt::format("the library '{}' requires itself", name));
  if (known == LUA_TNIL) {
    lua_pop(lua, 1);
    lua_spend(lua, static_cast<std::int64_t>(library_text(name).size()));
    lua_pushboolean(lua, 0);  // being loaded
    lua_setfield(lua, -2, name.c_str());
    if (LuaSandbox::push(lua, library_code(name)) != LUA_OK) lua_error(lua);
    lua_call(lua, 0, 1);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -3, name.c_str());
  }
  lua_remove(lua, -2);
}

namespace sandbox {

int require(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TSTRING);
  luaL_checkstack(lua, LUA_MINSTACK, nullptr);
  lua_require(lua, std::string(to_view(lua, 1)));
  return 1;
}

}  // namespace sandbox
}  // namespace gh
