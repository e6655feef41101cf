// Rules read from their files, held to the contract, and chosen.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Reads one rule. Throws Error that names file and line where it breaks the contract.
Rule load_rule(std::string source, const std::string& path);

/// The program's own rules, by id.
std::vector<Rule> own_rules();

/// Every rule below a directory (*.lua but not *.test.lua). Throws Error, which starts with `said`
/// ("--rules"), where there is none.
std::vector<Rule> rules_in(const std::filesystem::path& directory, const std::string& said);

/// Adds a team's rules to others; one with the id of another takes its place, and a line in `notes`
/// says so.
void add_rules(std::vector<Rule>& rules, std::vector<Rule> added, std::vector<std::string>& notes);

/// The rules that `select` names by id or category (all when it is empty) and `ignore` does not.
/// Throws Error with a suggestion for a name that no rule and no category has.
std::vector<Rule> chosen(std::vector<Rule> rules, const std::vector<std::string>& select,
                         const std::vector<std::string>& ignore);

}  // namespace gh
