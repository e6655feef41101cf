// The only exception whose text is shown to the user.
#pragma once
#include <stdexcept>
#include <string>

namespace gh {

/// One line for stderr: what is wrong and what to do about it. The program then exits with status
/// 2. Quoted text may come from anywhere; it is made printable here.
struct Error : std::runtime_error {
  explicit Error(const std::string& what);
};

}  // namespace gh
