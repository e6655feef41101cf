#include "base/parallel.hpp"

namespace gh {
namespace {

std::atomic<unsigned> wanted = 0;

}  // namespace

unsigned thread_count() {
  return wanted != 0 ? wanted.load() : std::max(1u, std::thread::hardware_concurrency());
}

void use_threads(unsigned count) { wanted = count; }

}  // namespace gh
