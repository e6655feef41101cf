// How many of a kernel's blocks fit on an SM at once, and how much of a GPU a grid fills.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/classes.hpp"

namespace gh {

constexpr std::uint32_t threads_in_a_warp = 32;

/// An SM of any GPU since Maxwell needs this many threads per clock to be busy: a warp for each of
/// its four schedulers (CUDA C++ Programming Guide, hardware implementation).
constexpr std::uint32_t lanes_of_an_sm = 4 * threads_in_a_warp;

/// How a kernel was launched.
struct LaunchShape {
  std::uint32_t blocks = 0, threads = 0;          ///< in the grid, in a block
  std::uint32_t registers = 0, shared_bytes = 0;  ///< per thread, per block
};

/// How much of a kernel fits on one SM at once.
struct Residency {
  std::uint32_t blocks = 0;
  double occupancy = 0;    ///< their warps, as a share of the most that an SM holds
  const char* limit = "";  ///< what is used up: "threads", "blocks", "registers", "shared memory"
};

/// Nothing if the report does not give registers, or if no block fits, which means that some input
/// is wrong.
std::optional<Residency> residency_of(const LaunchShape& launch, const SmLimits& sm);

/// How many lanes a grid keeps busy at once, on as many SMs as it needs: per block at most as many
/// as one SM has.
std::int64_t lanes_of(const LaunchShape& launch);

}  // namespace gh
