// Rules of a team, of any text: loaded, and asked.
#include "judge.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::judge(std::string(fuzz::text_of(data, size)));
  return 0;
}
