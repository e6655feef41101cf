// Makes the verbs of `trace` and of selections out of the tables below verbs/ and of the libraries
// that implement some in Lua. A verb itself charges for work that it cannot know in advance, and
// every selection that is returned to Lua costs by its rows (push_rows).
#include "rules/binding/verbs.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "base/schema_table.hpp"
#include "base/suggest.hpp"

namespace gh {
namespace binding {
namespace {

constexpr const char* trace_key = "gh.the_trace";  // in Lua's registry: what rules call `trace`

// Verbs that the library of their name implements: a function of `trace` and the verb's own
// arguments.
constexpr const char* library_verbs[] = {
    "trace:reduced_gradients", "trace:gathered_weights", "trace:broadcast_buffers",
    "trace:residency",         "trace:relayed",          "selection:first_of_steps",
    "selection:shapes",        "selection:doing",        "selection:host",
    "selection:growth",        "selection:kept_for",     "selection:amid",
    "selection:waits",
};

// All verbs; without a function those of libraries.
const std::vector<Verb>& all_verbs() {
  static const std::vector<Verb> all = [] {
    std::vector<Verb> list;
    for (const Verbs& of_file :
         {recording_verbs, select_verbs, copies_verbs, neighbours_verbs, samples_verbs,
          patterns_verbs, turns_verbs, times_verbs, values_verbs, products_verbs, launches_verbs,
          host_verbs, evidence_verbs})
      list.insert(list.end(), of_file.begin(), of_file.end());
    for (const char* name : library_verbs) list.push_back({name, nullptr});
    return list;
  }();
  return all;
}

// Names a verb that does not exist, with a suggestion. The upvalue is the prefix: "trace:".
int no_such_verb(lua_State* lua) {
  charge(lua, 64);
  const std::string prefix = lua_tostring(lua, lua_upvalueindex(1));
  const std::string name = lua_type(lua, 2) == LUA_TSTRING ? checked_text(lua, 2) : "";
  std::vector<std::string> names;
  for (const Verb& v : all_verbs())
    if (std::string_view(v.name).starts_with(prefix)) names.push_back(v.name + prefix.size());
  throw Error(fmt::format("{} has no verb '{}'{}", prefix.substr(0, prefix.size() - 1), name,
                          did_you_mean(name, names)));
}

// A verb that a library implements. Upvalues: the library, and whether the verb belongs to `trace`.
int call_library(lua_State* lua) {
  charge(lua, 1);
  luaL_checkstack(lua, LUA_MINSTACK, nullptr);
  lua_require(lua, lua_tostring(lua, lua_upvalueindex(1)));
  lua_insert(lua, 1);
  if (lua_toboolean(lua, lua_upvalueindex(2)) == 0) {
    lua_getfield(lua, LUA_REGISTRYINDEX, trace_key);
    lua_insert(lua, 2);
  }
  lua_call(lua, lua_gettop(lua) - 1, LUA_MULTRET);
  return lua_gettop(lua);
}

// What schemas/api.toml says in the tables of one name: entry(text) makes an entry, where text(key)
// is the text of a key, "" if it is absent.
template <class Entry, class Make>
std::vector<Entry> documented(const char* tables, Make entry) {
  static const toml::table api = schema_table("schemas/api.toml");
  std::vector<Entry> list;
  each_entry(api, tables, [&](const toml::table& table) {
    list.push_back(entry([&](const char* key) { return table[key].value_or(std::string()); }));
  });
  return list;
}

// The metatable of a type: the verbs whose names begin with `prefix`.
void make_type(lua_State* lua, const char* type, const char* prefix, lua_CFunction collect) {
  luaL_newmetatable(lua, type);
  lua_newtable(lua);
  for (const Verb& v : all_verbs()) {
    if (!std::string_view(v.name).starts_with(prefix)) continue;
    const char* name = v.name + std::string_view(prefix).size();
    if (v.function) {
      lua_pushcfunction(lua, v.function);
    } else {
      lua_pushstring(lua, name);
      lua_pushboolean(lua, type == trace_type);
      lua_pushcclosure(lua, lua_verb<call_library>, 2);
    }
    lua_setfield(lua, -2, name);
  }
  lua_newtable(lua);
  lua_pushstring(lua, prefix);
  lua_pushcclosure(lua, lua_verb<no_such_verb>, 1);
  lua_setfield(lua, -2, "__index");
  lua_setmetatable(lua, -2);
  lua_setfield(lua, -2, "__index");
  if (collect) {
    lua_pushcfunction(lua, collect);
    lua_setfield(lua, -2, "__gc");
  }
  set_flag(lua, "__metatable", false);
  lua_pop(lua, 1);
}

}  // namespace
}  // namespace binding

std::vector<ApiEntry> api_entries(const char* tables) {
  return binding::documented<ApiEntry>(tables, [](const auto& text) -> ApiEntry {
    return {text("name"), text("signature"), text("doc"), text("deprecated")};
  });
}

const std::vector<ApiEntry>& api_entries() {
  static const std::vector<ApiEntry> entries = api_entries("entry");
  return entries;
}

std::vector<std::string> verb_names() {
  std::vector<std::string> names;
  for (const binding::Verb& v : binding::all_verbs()) names.emplace_back(v.name);
  return names;
}

std::vector<std::string> deprecations(const std::string& rule_source) {
  std::vector<std::string> notes;
  for (const ApiEntry& verb : api_entries()) {
    if (verb.deprecated.empty()) continue;
    const std::string call = verb.name.substr(verb.name.find(':'));
    for (std::size_t at = 0; (at = rule_source.find(call, at)) != std::string::npos;
         at += call.size()) {
      const unsigned char next = rule_source.c_str()[at + call.size()];
      if (next == '_' || std::isalnum(next) != 0) continue;  // a longer name
      notes.push_back(fmt::format("{} is deprecated and will go: {}", verb.name, verb.deprecated));
      break;
    }
  }
  return notes;
}

const std::vector<FieldDoc>& field_docs() {
  static const std::vector<FieldDoc> docs =
      binding::documented<FieldDoc>("field", [](const auto& text) -> FieldDoc {
        const binding::FieldSpec& field = binding::spec_of(binding::field_named(text("name")));
        return {field.name, field.number != nullptr, text("rows"), text("doc")};
      });
  return docs;
}

void push_trace(lua_State* lua, const ApiHost& host) {
  binding::make_type(lua, binding::selection_type, "selection:", binding::collect_rows);
  binding::make_type(lua, binding::trace_type, "trace:", nullptr);
  binding::make_context(lua, host);
  lua_newuserdatauv(lua, 0, 0);
  luaL_setmetatable(lua, binding::trace_type);
  lua_pushvalue(lua, -1);
  lua_setfield(lua, LUA_REGISTRYINDEX, binding::trace_key);
}

}  // namespace gh
