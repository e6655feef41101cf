// Fixes that need no edit of a program (schemas/fixes.toml).
#pragma once
#include <map>
#include <string>
#include <vector>

namespace gh {

struct Fix {
  std::string name;                                ///< as on the command line: "loader-workers"
  std::string code;                                ///< what to write into the program
  std::vector<std::string> rules;                  ///< that advise it
  std::map<std::string, std::string> environment;  ///< variables that make it
  bool ask = false;                                ///< it may change results by more than rounding
};

const std::vector<Fix>& known_fixes();

/// The fixes of these names. Throws Error that names `option` for one that is unknown.
std::vector<Fix> fixes_named(const std::vector<std::string>& names, const char* option);

/// How many workers loader-workers gives to loaders without: half of the machine's, at most 8.
int workers_to_try();

}  // namespace gh
