// A team's rules with any text: loaded and run.
#include "judge.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::judge(std::string(fuzz::text_of(data, size)));
  return 0;
}
