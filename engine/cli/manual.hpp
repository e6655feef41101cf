// The manual page.
#pragma once
#include <string>

namespace CLI {
class App;
}

namespace gh {

/// gh-advise(1) in the man macros of roff.
std::string manual_page(const CLI::App& app);

}  // namespace gh
