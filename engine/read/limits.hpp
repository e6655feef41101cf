// What no recording has: what holds it is damaged, or was made to cost time.
#pragma once
#include <cstddef>

#include "base/spans.hpp"

namespace gh {

/// 73 years in nanoseconds. Times since 1970, as `nsys export --ts-normalize` writes them, lie
/// below, and twice the length of a report does not overflow.
inline constexpr Ns absurd_ns = Ns{1} << 61;

/// A year. Sums over devices and steps must not overflow, and no recording lasts as long.
inline constexpr Ns longest_capture_ns = Ns{1} << 55;

/// Names of GPUs are matched against every expression of schemas/gpus.toml: a longer one is cut.
inline constexpr std::size_t longest_device_name = 256;

}  // namespace gh
