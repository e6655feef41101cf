// How far times of two clocks can be trusted.
#pragma once
#include "base/spans.hpp"

namespace gh {

/// What the clocks of the GPU and the host, which the profiler brings together, may be apart.
constexpr Ns clocks_apart_ns = 20'000;

}  // namespace gh
