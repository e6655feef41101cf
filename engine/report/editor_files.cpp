// The rule API as editors and luacheck read it, made from schemas/api.toml.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "report/docs.hpp"
#include "rules/binding.hpp"

namespace gh {
namespace {

// The names of the parameters in "(name, other?, least = 2) -> ..."; of a table of named arguments,
// "arguments".
std::vector<std::string> parameters(std::string_view signature) {
  const std::size_t close = signature.find(") -> ");
  const std::string_view inside = signature.substr(1, close - 1);
  std::vector<std::string> names;
  if (inside.starts_with("{")) return {inside.ends_with("?") ? "arguments?" : "arguments"};
  for (std::size_t at = 0; at < inside.size();) {
    const std::size_t comma = std::min(inside.find(", ", at), inside.size());
    const std::string_view one = inside.substr(at, comma - at);
    const std::size_t space = one.find(' ');
    names.push_back(space == one.npos ? std::string(one) : std::string(one.substr(0, space)) + "?");
    at = comma + 2;
  }
  return names;
}

// The class that the signature says is returned, as LuaLS knows it.
const char* returned_type(std::string_view signature) {
  const std::string_view returns = signature.substr(signature.find(") -> ") + 5);
  if (returns.starts_with("selection") || returns.starts_with("runs") ||
      returns.starts_with("chains"))
    return "gh.Selection";
  return returns.starts_with("list") ? "table" : "any";
}

// Without the mark of what may be left out.
std::string plain(std::string name) {
  if (name.ends_with("?")) name.pop_back();
  return name;
}

}  // namespace

std::string editor_stubs() {
  std::string s =
      "---@meta\n-- What rules can call, for editors that read LuaLS annotations. Made from "
      "schemas/api.toml.\n\n---@class gh.Trace\nlocal trace = {}\n\n---@class "
      "gh.Selection\nlocal selection = {}\n";
  for (const ApiEntry& e : api_entries()) {
    if (is_plain_lua(e)) continue;
    s += fmt::format("\n--- {}\n--- {}\n", e.doc, e.signature);
    if (!e.deprecated.empty()) s += fmt::format("---@deprecated {}\n", e.deprecated);
    std::string names;
    for (const std::string& p : parameters(e.signature)) {
      s += fmt::format("---@param {} any\n", p);
      names += (names.empty() ? "" : ", ") + plain(p);
    }
    s += fmt::format("---@return {}\nfunction {}({}) end\n", returned_type(e.signature), e.name,
                     names);
  }
  return s;
}

std::string luacheck_configuration() {
  std::set<std::string> globals;
  std::map<std::string, std::set<std::string>> libraries;
  for (const ApiEntry& e : api_entries())
    for (const std::string_view word : split(e.name, " ")) {
      const std::string name(word);
      if (name.find(':') != name.npos) continue;
      const std::size_t dot = name.find('.');
      if (dot == name.npos)
        globals.insert(name);
      else
        libraries[name.substr(0, dot)].insert(name.substr(dot + 1));
    }
  std::string s =
      "-- What the sandbox has, made from schemas/api.toml: luacheck then knows a rule "
      "that calls anything else.\nstd = \"none\"\nmax_line_length = false\nread_globals = {\n ";
  for (const std::string& g : globals) s += fmt::format(" \"{}\",", g);
  s += "\n";
  for (const auto& [library, names] : libraries) {
    s += fmt::format("  {} = {{ fields = {{", library);
    for (const std::string& n : names) s += fmt::format(" \"{}\",", n);
    s += " } },\n";
  }
  return s + "}\n";
}

}  // namespace gh
