// What --version prints.
#pragma once
#include <string>

namespace gh {

/// "gh-advise 0.1.0", and below it the machine, the compiler and the libraries that it was built
/// for and with.
std::string version_text();

}  // namespace gh
