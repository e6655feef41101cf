// What is drawn from the description of the command line, so that it never lags behind: the manual
// page, and what shells complete.
#pragma once
#include <string>
#include <vector>

#include "rules/rules.hpp"

namespace CLI {
class App;
}

namespace gh {

/// gh-advise(1) in the man macros of roff.
std::string manual_page(const CLI::App& app);

/// The shells for which there are completions.
extern const std::vector<std::string> shells;

/// What such a shell has to source to complete commands, options, their values, the ids of `rules`,
/// files and folders. `gh-advise` with no command is completed as `gh-advise check`.
std::string completion(const CLI::App& app, const std::string& shell,
                       const std::vector<Rule>& rules);

/// "gh-advise 0.1.0", and below it the machine, the compiler and the libraries that it was built
/// for and with.
std::string version_text();

}  // namespace gh
