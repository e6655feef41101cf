// Reads rules from their files, checks them against the contract, and selects among them.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace gh {

/// Reads one rule. Throws Error with file and line if it violates the contract.
Rule load_rule(std::string source, const std::string& path);

/// The built-in rules, by id.
std::vector<Rule> own_rules();

/// Every rule below a directory (*.lua but not *.test.lua). Throws Error, which starts with `said`
/// ("--rules"), if there is none.
std::vector<Rule> rules_in(const std::filesystem::path& directory, const std::string& said);

/// Adds a team's rules to others; one with the id of another replaces it, and adds a line to
/// `notes`.
void add_rules(std::vector<Rule>& rules, std::vector<Rule> added, std::vector<std::string>& notes);

/// The rules that `select` names by id or category (all if it is empty), except those in `ignore`.
/// Throws Error with a suggestion for an unknown name.
std::vector<Rule> chosen(std::vector<Rule> rules, const std::vector<std::string>& select,
                         const std::vector<std::string>& ignore);

}  // namespace gh
