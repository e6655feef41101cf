// The pages of the documentation that docs.cpp puts together.
#pragma once
#include <string>

namespace gh {

/// writing-rules.md: the rule API.
std::string writing_rules_page();

}  // namespace gh
