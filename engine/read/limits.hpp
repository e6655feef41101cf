// Limits that no real recording exceeds: a file that does is damaged or malicious.
#pragma once
#include <cstddef>

#include "base/spans.hpp"

namespace gh {

/// 73 years in nanoseconds. Times since 1970, as `nsys export --ts-normalize` writes them, are
/// below it, and twice the length of a report does not overflow.
inline constexpr Ns absurd_ns = Ns{1} << 61;

/// A year. Sums over devices and steps must not overflow, and no recording lasts that long.
inline constexpr Ns longest_capture_ns = Ns{1} << 55;

/// The GPUs of one file. A machine has at most some dozens, also where each is cut into several.
inline constexpr std::size_t most_devices = 512;

/// GPU names are matched against every expression in schemas/gpus.toml, so longer names are cut.
inline constexpr std::size_t longest_device_name = 256;

}  // namespace gh
