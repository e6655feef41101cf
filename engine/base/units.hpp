// Quantities as people read them.
#pragma once
#include <string>

#include "base/spans.hpp"

namespace gh {

/// "160.3 ms", "12.4 us", "1.92 s": three significant digits or four, in the unit that suits.
std::string duration(Ns ns);
std::string duration(double ns);
/// "64 KiB", "1.3 GiB".
std::string bytes_text(double bytes);
/// "71 %", "4.2 %", "0.3 %".
std::string percent(double fraction);

}  // namespace gh
