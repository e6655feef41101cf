// How precisely times from two clocks can be compared.
#pragma once
#include "base/spans.hpp"

namespace gh {

/// How far apart the GPU's and the host's clocks may be after the profiler has aligned them.
constexpr Ns clocks_apart_ns = 20'000;

}  // namespace gh
