// The one kind of exception that is meant for the user.
#pragma once
#include <stdexcept>
#include <string>

namespace gh {

/// What the user has to be told in one line on stderr, with what to do about it; the program then
/// ends with status 2. What it quotes may come from anywhere: it is made printable here.
struct Error : std::runtime_error {
  explicit Error(const std::string& what);
};

}  // namespace gh
