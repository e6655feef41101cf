// The memory in use at its peak: what it was for, and which layer allocated it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/memory.hpp"

namespace gh {

/// The memory of one device.
struct DeviceMemory {
  MemoryTimeline timeline;
  MemoryClasses classes;
  std::optional<MemoryRoom> room;
  std::optional<std::int64_t> growth_bytes;  ///< growth_per_step
};

struct LayerMemory {
  std::vector<DeviceMemory> devices;   ///< those whose allocations were recorded
  std::vector<std::int64_t> by_layer;  ///< bytes in use at the peaks, by LayerId
};
LayerMemory layer_memory_of(const Analysis& analysis);

}  // namespace gh
