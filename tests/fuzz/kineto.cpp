// PyTorch profiler traces, plain or packed.
#include "read/kineto.hpp"

#include "base/text.hpp"
#include "fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    fuzz::analyse(gh::read_kineto(fuzz::file_of(fuzz::text_of(data, size))), size % 8 == 0);
  } catch (const gh::Error&) {
  }
  return 0;
}
