// What shells complete.
#pragma once
#include <string>
#include <vector>

#include "rules/rules.hpp"

namespace CLI {
class App;
}

namespace gh {

/// The shells for which there are completions.
extern const std::vector<std::string> shells;

/// What such a shell has to source to complete commands, options, their values, the ids of `rules`,
/// files and folders. `gh-advise` with no command is completed as `gh-advise check`.
std::string completion(const CLI::App& app, const std::string& shell,
                       const std::vector<Rule>& rules);

}  // namespace gh
