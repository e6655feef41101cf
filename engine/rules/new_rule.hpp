// A new rule for a team to start from: it loads, has documentation, and its tests pass.
#pragma once
#include <string>

namespace gh {

struct NewRule {
  std::string category, id;
  std::string rule, test;  ///< contents of ID.lua and ID.test.lua
};

/// Throws Error if category or id has characters other than lower-case letters, digits and '-'.
NewRule make_rule(const std::string& category, const std::string& id);

}  // namespace gh
