// Documentation, drawn from what the program itself goes by: rules, facts, the rule API, the keys
// of the configuration.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "rules/config.hpp"

namespace gh {

struct Page {
  std::string path;  ///< below the folder of the documentation: "rules/host-sync.md"
  std::string text;  ///< Markdown
};

/// All pages. Each rule's page shows what it says of the first case of its test that fires: on a
/// recorded report of `fixtures` where there is one, otherwise on the case's literal trace.
std::vector<Page> documentation(const std::vector<Rule>& rules,
                                const std::filesystem::path& fixtures);

/// schemas/gh.lua: the rule API for editors that read LuaLS annotations.
std::string editor_stubs();

/// .luacheckrc: what luacheck has to know of the sandbox.
std::string luacheck_configuration();

/// The configuration in effect as TOML, each value with where it comes from.
std::string render_config(const Config& config, const std::vector<Rule>& rules);

}  // namespace gh
