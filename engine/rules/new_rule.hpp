// A new rule for a team to start from: valid, documented where it has to be, and with tests that
// pass.
#pragma once
#include <string>

namespace gh {

struct NewRule {
  std::string category, id, rule, test;
};

/// Throws Error where category or id is not made of lower-case letters, digits and '-'.
NewRule make_rule(const std::string& category, const std::string& id);

}  // namespace gh
