#include "base/error.hpp"

#include "base/text.hpp"

namespace gh {

Error::Error(const std::string& what) : std::runtime_error(printable(what)) {}

}  // namespace gh
