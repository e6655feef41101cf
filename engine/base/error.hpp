// The one kind of exception that is meant for the user.
#pragma once
#include <stdexcept>

namespace gh {

/// What the user has to be told in one line on stderr, with what to do about it; the program then
/// ends with status 2.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gh
