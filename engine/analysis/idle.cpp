#include "analysis/idle.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gh {

const char* name_of(IdleCause c) {
  static constexpr std::array names{"input",          "sync",       "launch", "allocation",
                                    "compilation",    "loading",    "faults", "failed",
                                    "launch_latency", "dependency", "unknown"};
  return names[static_cast<std::size_t>(c)];
}

std::size_t IdleList::grow(std::size_t n) {
  while (blocks_.size() * block < size_ + n)
    blocks_.emplace_back(std::allocator<Idle>().allocate(block));
  return std::exchange(size_, size_ + n);
}

void IdleList::put(std::size_t at, std::span<const Idle> idle) {
  while (!idle.empty()) {
    const std::size_t n = std::min(idle.size(), block - at % block);
    std::uninitialized_copy_n(idle.begin(), n, blocks_[at / block].get() + at % block);
    at += n;
    idle = idle.subspan(n);
  }
}

}  // namespace gh
