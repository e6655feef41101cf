// How many of a kernel's blocks an SM holds at once, and how much of a GPU a grid fills.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/classes.hpp"

namespace gh {

constexpr std::uint32_t threads_in_a_warp = 32;

/// What an SM of every GPU since Maxwell has to be given in each clock to be busy: a warp for each
/// of its four schedulers (CUDA C++ Programming Guide, hardware implementation).
constexpr std::uint32_t lanes_of_an_sm = 4 * threads_in_a_warp;

/// How a kernel was launched.
struct LaunchShape {
  std::uint32_t blocks = 0, threads = 0;          ///< in the grid, in a block
  std::uint32_t registers = 0, shared_bytes = 0;  ///< of a thread, of a block
};

/// What one SM holds of a kernel at once.
struct Residency {
  std::uint32_t blocks = 0;
  double occupancy = 0;    ///< their warps, of the most that an SM holds
  const char* limit = "";  ///< what is used up: "threads", "blocks", "registers", "shared memory"
};

/// Nothing where the report does not tell registers, or where no block fits: then something else is
/// told wrong.
std::optional<Residency> residency_of(const LaunchShape& launch, const SmLimits& sm);

/// How many lanes a grid keeps busy at once, on however many SMs it needs: of a block as many as
/// one SM has.
std::int64_t lanes_of(const LaunchShape& launch);

}  // namespace gh
