// Texts of engine/templates/, which the program fills in: pages, scripts, a new rule.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace gh {

/// What stands for {{NAME}}, by name.
using Marks = std::map<std::string, std::string, std::less<>>;

/// A file of engine/templates/, filled in. A mark that is not in `marks` is the path of an embedded
/// file.
std::string filled(std::string_view name, const Marks& marks);

}  // namespace gh
