#include "analysis/residency.hpp"

#include <algorithm>
#include <array>

namespace gh {
namespace {

constexpr std::uint32_t register_portion = 256, shared_portion = 128, schedulers = 4;

std::uint32_t portions(std::uint32_t asked, std::uint32_t portion) {
  return (asked + portion - 1) / portion * portion;
}

}  // namespace

std::optional<Residency> residency_of(const LaunchShape& launch, const SmLimits& sm) {
  if (launch.registers == 0 || launch.threads == 0) return std::nullopt;
  const std::uint32_t warps = (launch.threads + threads_in_a_warp - 1) / threads_in_a_warp;
  const std::uint32_t registers_a_warp =
      portions(launch.registers * threads_in_a_warp, register_portion);
  // Each scheduler has a separate register file, which its warps do not share with others.
  const std::uint32_t warps_by_registers =
      sm.registers / schedulers / registers_a_warp * schedulers;
  const std::uint64_t shared =
      std::uint64_t{portions(std::min(launch.shared_bytes, sm.shared_bytes), shared_portion)} +
      sm.shared_bytes_a_block;
  struct Bound {
    std::uint32_t blocks;
    const char* name;
  };
  const std::array<Bound, 4> bounds{
      {{sm.warps / warps, "threads"},
       {sm.blocks, "blocks"},
       {warps_by_registers / warps, "registers"},
       {shared > 0 ? static_cast<std::uint32_t>(sm.shared_bytes / shared) : sm.blocks,
        "shared memory"}}};
  const Bound& least =
      *std::min_element(bounds.begin(), bounds.end(),
                        [](const Bound& a, const Bound& b) { return a.blocks < b.blocks; });
  if (least.blocks == 0) return std::nullopt;
  return Residency{least.blocks,
                   static_cast<double>(least.blocks * warps) / static_cast<double>(sm.warps),
                   least.name};
}

std::int64_t lanes_of(const LaunchShape& launch) {
  return std::int64_t{launch.blocks} * std::min(launch.threads, lanes_of_an_sm);
}

}  // namespace gh
